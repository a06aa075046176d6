import type { Endpoint } from '../../../framework/endpoint.ts';
import type { Millis } from '../../../framework/runtime.ts';
import type { PoolSaturation } from './pool-saturation.ts';
import type { UsageLimit } from './usage-limits.ts';

/** Which bands are served at the present saturation. */
export class Gate {
  readonly #measure: (endpoints: readonly Endpoint[], at: Millis) => PoolSaturation;
  readonly #usageLimit: UsageLimit;
  /** The saturation that was measured last. */
  saturation: PoolSaturation = { effective: 0, stages: new Map() };
  /** One for each priority of the last measurement. */
  ceilings: readonly number[] = [];
  /** How many bands, from the highest priority on, have no band above them that closes them. */
  open = 0;

  constructor(
    measure: (endpoints: readonly Endpoint[], at: Millis) => PoolSaturation,
    usageLimit: UsageLimit,
  ) {
    this.#measure = measure;
    this.#usageLimit = usageLimit;
  }

  /**
   * Measures the saturation anew. A closed band closes all bands below it, so that these do not
   * take the room for which it waits. One with the ceiling 0 closes itself alone: it waits for no
   * room.
   */
  look(endpoints: readonly Endpoint[], priorities: readonly number[], at: Millis): void {
    this.saturation = this.#measure(endpoints, at);
    const { effective } = this.saturation;
    this.ceilings = this.#usageLimit.ceilings(effective, priorities);
    const closed = this.ceilings.findIndex((ceiling) => ceiling > 0 && effective >= ceiling);
    this.open = closed < 0 ? priorities.length : closed;
  }

  /** Whether the band with this rank is served. */
  isOpen(rank: number): boolean {
    return rank < this.open && (this.ceilings[rank] ?? 0) > 0;
  }
}
