import { type Endpoint, isFresh } from '../../framework/endpoint.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { EndpointPool } from '../../picker/pool/endpoint-pool.ts';

/**
 * So many times what an endpoint reports others may claim there: a metrics page may show one of
 * eight data-parallel ranks.
 */
const TIMES_REPORTED = 8;
/** The endpoint must have denied the claims at so many looks in a row, a second apart. */
const LOOKS = 20;
/** The claims are not counted for so long. */
const DOUBTED_MS: Millis = 600_000;

/** A replica whose requests are booked here. */
export interface Claimant {
  readonly id: string;
  /** Adds its requests that are booked here, by the address of the endpoint that works on each. */
  addClaims(claims: Map<string, number>): void;
  /** Releases what it has booked at this address. */
  release(now: Millis, address: string): void;
}

/** What the picker knows of its endpoints. */
export interface KnownLoads {
  readonly pool: Pick<EndpointPool, 'snapshot'>;
  readonly ledger: {
    occupied(endpoint: Endpoint): number;
    occupiedHere(endpoint: Endpoint): number;
  };
}

/** A replica whose claims at an address do not count from now on. */
export interface Doubted {
  readonly id: string;
  readonly address: string;
}

interface Doubt {
  readonly until: Millis;
  /** Those whose claims still count. A replica that comes later may be the doubted one renamed. */
  readonly trusted: ReadonlySet<Claimant>;
}

/**
 * Finds replicas that claim to have requests where there are none, whose claims would else keep an
 * endpoint full for ever. The endpoint itself reports how many requests it has. Where it reports
 * fewer than this picker has sent there itself, its report does not show all, and is none.
 */
export class Doubts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #doubted = new Map<string, Doubt>();
  /** Address → looks in a row at which the endpoint denied what is claimed there. */
  readonly #denied = new Map<string, number>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Whether the claims of this replica at this address do not count. */
  isDoubted(claimant: Claimant, address: string): boolean {
    const doubt = this.#doubted.get(address);
    return doubt !== undefined && !doubt.trusted.has(claimant);
  }

  /**
   * To be called each second. Doubts the replica that claims most at an endpoint which has denied
   * it long enough, and releases what it has there. Returns which replica is doubted now, and at
   * which endpoint.
   */
  look(claimants: readonly Claimant[], loads: KnownLoads): readonly Doubted[] {
    const now = this.#clock.now();
    for (const [address, { until }] of this.#doubted)
      if (now >= until) this.#doubted.delete(address);
    let known: readonly Map<string, number>[] | undefined;
    const claims = (): readonly Map<string, number>[] => (known ??= claimants.map(claimsOf));
    const doubted: Doubted[] = [];
    const byAddress = Map.groupBy(loads.pool.snapshot(), (endpoint) => endpoint.address);
    for (const [address, endpoints] of byAddress) {
      const denies = this.#denies(address, endpoints, loads, claims);
      if (denies === undefined) continue;
      const looks = denies ? (this.#denied.get(address) ?? 0) + 1 : 0;
      if (looks > 0) this.#denied.set(address, looks);
      else this.#denied.delete(address);
      if (looks < LOOKS) continue;
      const at = claims().map((each) => each.get(address) ?? 0);
      const largest = claimants[at.indexOf(Math.max(...at))];
      if (largest === undefined) continue;
      this.#doubt(largest, claimants, address);
      doubted.push({ id: largest.id, address });
    }
    return doubted;
  }

  /** Undefined where the reports of the address's ranks say nothing of what others claim. */
  #denies(
    address: string,
    endpoints: readonly Endpoint[],
    { ledger }: KnownLoads,
    claims: () => readonly Map<string, number>[],
  ): boolean | undefined {
    const now = this.#clock.now();
    const reported = sumOf(
      endpoints,
      ({ metrics }) => metrics.runningRequests + metrics.waitingQueueSize,
    );
    const here = sumOf(endpoints, (each) => ledger.occupiedHere(each));
    if (!endpoints.every((each) => isFresh(each, now)) || here > reported) return undefined;
    const possible = TIMES_REPORTED * reported;
    // The ledger also has requests whose prompts are still computed elsewhere, so its number is
    // only a bound: the claims themselves are counted where it is above what is possible.
    if (sumOf(endpoints, (each) => ledger.occupied(each)) - here <= possible) return false;
    const claimed = claims().reduce((sum, each) => sum + (each.get(address) ?? 0), 0);
    return claimed > possible;
  }

  #doubt(doubted: Claimant, claimants: readonly Claimant[], address: string): void {
    const now = this.#clock.now();
    const isTrusted = (each: Claimant): boolean =>
      each !== doubted && !this.isDoubted(each, address);
    const trusted = new Set(claimants.filter(isTrusted));
    this.#doubted.set(address, { until: now + DOUBTED_MS, trusted });
    doubted.release(now, address);
  }
}

function sumOf(endpoints: readonly Endpoint[], value: (each: Endpoint) => number): number {
  return endpoints.reduce((sum, each) => sum + value(each), 0);
}

function claimsOf(claimant: Claimant): Map<string, number> {
  const claims = new Map<string, number>();
  claimant.addClaims(claims);
  return claims;
}
