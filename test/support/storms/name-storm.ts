import { EMBEDDED_CATALOGUE } from '../../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../../src/config/defaults.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { isAddress, splitHostPort } from '../../../src/endpoints/discovery/file/host-port.ts';
import { ResolvedEndpoints } from '../../../src/endpoints/discovery/names/resolved-endpoints.ts';
import type { EndpointId } from '../../../src/framework/endpoint.ts';
import type { RoutedRequest } from '../../../src/framework/routing.ts';
import { noNetwork, type Random } from '../../../src/framework/runtime.ts';
import { withoutNetwork } from '../../../src/library/create-picker.ts';
import { EndpointPicker } from '../../../src/picker/endpoint-picker.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { makeRequest } from '../../makers.ts';
import { UnsteadyClock } from '../unsteady-clock.ts';
import { loadLeft } from './load-left.ts';
import { NameServer } from './name-server.ts';

export interface NameStormOptions {
  readonly steps: number;
  readonly pace: UnsteadyClock['pace'];
}

export interface NameStorm {
  readonly asked: number;
  readonly placed: number;
  /** What must not be: one sentence each. */
  readonly faults: readonly string[];
}

const KEEP_MS = 60_000;
/** An answer to the last question may come until then. */
const LATE_MS = 45_000;
const CALM_MS = 11 * 60_000;
const NAMES = ['a.example', 'b.example', 'c.example', 'localhost', 'huge.example'];
/** Some have the form of those that further addresses of a name get. */
const IDS = ['p', 'q', 'r', 's', 't', 'p@10.0.0.2', 'q@10.0.0.3'];

/**
 * Follows host names whose answers change, vanish, fail, come late or with 1,500 addresses, while
 * the list of endpoints changes and requests are placed and end, in unsteady time.
 */
export function nameStorm(seed: number, options: NameStormOptions): Promise<NameStorm> {
  return new RunningStorm(seed, options).run();
}

class RunningStorm {
  readonly #options: NameStormOptions;
  readonly #random: Random;
  readonly #clock: UnsteadyClock;
  readonly #server: NameServer;
  readonly #picker: EndpointPicker;
  readonly #names: ResolvedEndpoints;
  /** The addresses that are listed, by id. */
  readonly #listed = new Map<string, string>();
  readonly #open: RoutedRequest[] = [];
  readonly #faults = new Set<string>();
  #placed = 0;

  constructor(seed: number, options: NameStormOptions) {
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#clock = new UnsteadyClock(this.#random.fork('clock'));
    this.#clock.pace = options.pace;
    this.#server = new NameServer(this.#clock, this.#random.fork('server'));
    const text = NAMED_CONFIGS.get('random') ?? '';
    const dataSources = EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork);
    this.#picker = new EndpointPicker({
      plan: loadConfig({ text, source: 'test', catalogue: { ...EMBEDDED_CATALOGUE, dataSources } }),
      runtime: {
        clock: this.#clock,
        random: this.#random.fork('picker'),
        network: noNetwork('a storm'),
      },
      subscribers: [],
    });
    this.#names = new ResolvedEndpoints({
      pool: this.#picker.pool,
      resolve: this.#server.resolve,
      clock: this.#clock,
      keepMs: KEEP_MS,
      log: { info: () => undefined, warn: () => undefined },
    });
  }

  async run(): Promise<NameStorm> {
    for (let step = 0; step < this.#options.steps; step++) {
      this.#change();
      this.#requests();
      await this.#clock.runFor(
        this.#random.next() < 0.9 ? 300 * this.#random.next() : 20_000 * this.#random.next(),
      );
      this.#checkPool();
    }
    await this.#end();
    return { asked: this.#server.asked, placed: this.#placed, faults: [...this.#faults] };
  }

  #change(): void {
    const chance = this.#random.next();
    const id = this.#anyOf(IDS);
    if (chance < 0.15) this.#list(id, this.#address());
    else if (chance < 0.2) {
      this.#listed.delete(id);
      this.#names.remove(id as EndpointId);
    } else if (chance < 0.25) {
      const address = this.#listed.get(id);
      if (address !== undefined) this.#list(id, address);
    } else if (chance < 0.6) this.#server.change(this.#anyOf(NAMES));
  }

  #list(id: string, address: string): void {
    this.#listed.set(id, address);
    const labels = new Map([['n', String(Math.floor(10 * this.#random.next()))]]);
    this.#names.upsert({ id: id as EndpointId, address, labels });
  }

  #address(): string {
    const host = this.#random.next() < 0.2 ? '10.0.0.1' : this.#anyOf(NAMES);
    return `${host}:${this.#random.next() < 0.7 ? 80 : 81}`;
  }

  #requests(): void {
    for (let count = 3; count > 0 && this.#picker.pool.snapshot().length > 0; count--) {
      this.#open.push(this.#picker.route(makeRequest({ id: `r${this.#placed}` })));
      this.#placed += 1;
    }
    while (this.#random.next() < 0.7) {
      const at = Math.floor(this.#open.length * this.#random.next());
      this.#open.splice(at, 1)[0]?.done(this.#random.next() < 0.8 ? 'completed' : 'aborted');
    }
  }

  /** Each endpoint is at a listed address, or one that its name had in an answer not too long ago. */
  #checkPool(): void {
    const seen = new Set<string>();
    for (const { id, address, hostName } of this.#picker.pool.snapshot()) {
      if (seen.has(address)) this.#faults.add(`two endpoints have ${address}`);
      seen.add(address);
      const { host } = splitHostPort(address);
      if (hostName === undefined) {
        if (this.#listed.get(id) !== address) this.#faults.add(`${id} is not listed at ${address}`);
        continue;
      }
      const answeredAt = this.#server.answeredAt(hostName, host);
      if (answeredAt === undefined) this.#faults.add(`no answer for ${hostName} had ${host}`);
      const keptMs = this.#clock.at - this.#server.goodUntil(hostName);
      if (keptMs > KEEP_MS + LATE_MS) this.#faults.add(`${address} is kept for too long`);
    }
    const known = new Map(this.#names.names().map(({ name, addresses }) => [name, addresses]));
    this.#checkWhole((name) => known.get(name) ?? []);
    const listed = [...this.#listed.values()].map((address) => splitHostPort(address).host);
    for (const name of known.keys())
      if (!listed.includes(name)) this.#faults.add(`${name} is followed and not listed`);
  }

  /** The endpoints are at the listed addresses, and at all those of the listed names. */
  #checkWhole(addressesOf: (name: string) => readonly string[]): void {
    const expected = new Set<string>();
    for (const address of this.#listed.values()) {
      const { host, port } = splitHostPort(address);
      const hosts = isAddress(host) ? [host] : addressesOf(host);
      for (const each of hosts)
        expected.add(each.includes(':') ? `[${each}]:${port}` : `${each}:${port}`);
    }
    for (const { address } of this.#picker.pool.snapshot())
      if (!expected.delete(address))
        this.#faults.add(`an endpoint has ${address}, and no name has`);
    for (const address of expected) this.#faults.add(`${address} has no endpoint`);
  }

  /** All names have answers for a while: the pool has all of them, and what ends leaves nothing. */
  async #end(): Promise<void> {
    this.#server.calm();
    if (this.#clock.pace !== 'still') this.#clock.pace = 'steady';
    await this.#clock.runFor(CALM_MS);
    this.#checkPool();
    this.#checkWhole((name) => this.#server.addresses(name));
    for (const each of this.#open.splice(0)) each.done('completed');
    const { pool, ledger } = this.#picker;
    for (const each of pool.snapshot())
      for (const left of loadLeft(each.id, ledger.load(each))) this.#faults.add(left);
    for (const id of this.#listed.keys()) this.#names.remove(id as EndpointId);
    const rest = pool.snapshot().map(({ id }) => id);
    if (rest.length > 0) this.#faults.add(`${rest.join()} stay`);
    this.#names.stop();
    this.#picker.stop();
    await this.#clock.runFor(10 * 60_000);
    if (this.#clock.pending > 0) this.#faults.add(`${this.#clock.pending} timers are left`);
  }

  #anyOf(values: readonly string[]): string {
    return values[Math.floor(values.length * this.#random.next())] as string;
  }
}
