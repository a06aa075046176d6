import { isIP } from 'node:net';
import type { Clock, Millis, ResolvedName, Timer } from '../../framework/runtime.ts';

/** A pod that is replaced has another address soon after. */
const REFRESH_MS: Millis = 10_000;

interface FollowOptions {
  readonly resolve: (name: string) => Promise<ResolvedName>;
  readonly clock: Clock;
  readonly log: (line: string) => void;
}

/** The addresses of hosts, in the order of the list. Addresses in the list stay as they are. */
export class HostAddresses {
  readonly #hosts: readonly string[];
  readonly #names: readonly string[];
  readonly #options: FollowOptions;
  /** By name, the last address. */
  readonly #known = new Map<string, string>();
  #timer: Timer | undefined;
  #isStopped = false;

  private constructor(hosts: readonly string[], options: FollowOptions) {
    this.#hosts = hosts;
    this.#names = hosts.filter((host) => isIP(host) === 0);
    this.#options = options;
  }

  /**
   * Looks up the first address of each name, and again every 10 s: a name that cannot be looked up
   * keeps its last address. Rejects where a name cannot be looked up at first.
   */
  static async follow(hosts: readonly string[], options: FollowOptions): Promise<HostAddresses> {
    const addresses = new HostAddresses(hosts, options);
    for (const name of addresses.#names) await addresses.#lookUp(name);
    addresses.#refreshLater();
    return addresses;
  }

  current(): readonly string[] {
    return this.#hosts.map((host) => this.#known.get(host) ?? host);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #lookUp(name: string): Promise<void> {
    const { addresses } = await this.#options.resolve(name);
    const [first] = addresses;
    if (first === undefined) throw new Error('has no address');
    this.#known.set(name, first);
  }

  #refreshLater(): void {
    if (this.#names.length === 0 || this.#isStopped) return;
    this.#timer = this.#options.clock.setTimer(REFRESH_MS, () => void this.#refresh());
  }

  async #refresh(): Promise<void> {
    for (const name of this.#names) {
      // It may be stopped while the name before is looked up.
      if (this.#isStopped) return;
      await this.#lookUp(name).catch((error: Error) =>
        this.#options.log(`${name} keeps its last address: ${error.message}`),
      );
    }
    this.#refreshLater();
  }
}
