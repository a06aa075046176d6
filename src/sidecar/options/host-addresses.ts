import { isIP } from 'node:net';
import type { Clock, Millis, ResolvedName, Timer } from '../../framework/runtime.ts';

/** A pod that is replaced has another address soon after. */
const REFRESH_MS: Millis = 10_000;

/** The addresses of hosts, in the order of the list. */
export interface HostAddresses {
  current(): readonly string[];
  stop(): void;
}

interface FollowOptions {
  readonly resolve: (name: string) => Promise<ResolvedName>;
  readonly clock: Clock;
  readonly log: (line: string) => void;
}

/**
 * Looks up the first address of each name, and again every 10 s: a name that cannot be looked up
 * keeps its last address. Addresses in the list stay as they are. Rejects where a name cannot be
 * looked up at first.
 */
export async function followHosts(
  hosts: readonly string[],
  { resolve, clock, log }: FollowOptions,
): Promise<HostAddresses> {
  const addressOf = async (host: string): Promise<string> => {
    const { addresses } = await resolve(host);
    const [first] = addresses;
    if (first === undefined) throw new Error('has no address');
    return first;
  };
  const known = new Map<string, string>();
  for (const host of hosts) known.set(host, isIP(host) > 0 ? host : await addressOf(host));
  const names = hosts.filter((host) => isIP(host) === 0);
  let timer: Timer | undefined;
  let isStopped = false;
  const later = (): void => {
    if (names.length > 0 && !isStopped) timer = clock.setTimer(REFRESH_MS, () => void refresh());
  };
  const refresh = async (): Promise<void> => {
    for (const name of names) {
      // It may be stopped while the name before is looked up.
      if (isStopped) return;
      await addressOf(name).then(
        (address) => known.set(name, address),
        (error: Error) => log(`${name} keeps its last address: ${error.message}`),
      );
    }
    later();
  };
  later();
  return {
    current: () => hosts.map((host) => known.get(host) ?? host),
    stop: () => {
      isStopped = true;
      timer?.cancel();
    },
  };
}
