import type { Endpoint, EndpointId, EndpointMetrics } from '../framework/endpoint.ts';
import { RoutingError } from '../framework/error.ts';
import type { Millis } from '../framework/runtime.ts';
import type { Decision } from '../framework/scheduling.ts';
import type { CaptureRecord } from '../journal/capture/capture-record.ts';
import type { DecidedCycle } from '../picker/cycles/cycle.ts';
import { metricsOf } from './captured-inputs.ts';
import { bestOf, rankIn, scoreIn } from './standing.ts';

/** How an observed decision stands to the one made here, the first that holds. */
export const WHYS = ['same', 'tie', 'not-scored', 'samples', 'unexplained'] as const;
/**
 * `tie`: both endpoints have the best score, and one of them is drawn. `not-scored`: filters or an
 * ejection left it out here. `samples`: it has the best score by samples that servers had shortly
 * before, as two pickers scrape apart.
 */
export type Why = (typeof WHYS)[number];

export interface Explained {
  readonly why: Why;
  /** Why a pick at random would differ: with many servers' samples anything is explained. */
  readonly drawn: Why;
}

/** Samples of an endpoint that are tried. At 50 ms they are what the last 150 to 200 ms had. */
const SAMPLES = 4;
/** Endpoints with better scores whose samples are tried: each costs a few decisions. */
const BETTER_MAX = 8;
/** At most one decision in this time is explained, so that a shadow keeps up with any load. */
const EXPLAINED_EVERY_MS = 20;

/**
 * Explains decisions of an observed picker, whose samples are not known: each server's is taken
 * from its last ones, by itself. What it finds holds; it does not try every combination.
 */
export class ObservedDifferences {
  readonly #samples = new Map<string, EndpointMetrics[]>();
  #explainedAt: Millis = Number.NEGATIVE_INFINITY;
  #drawn = 0;

  /** Every record that a picker takes. */
  note(record: CaptureRecord): void {
    if (record.e === '-') this.#samples.delete(record.id);
    if (record.e !== 'm') return;
    const known = this.#samples.get(record.id) ?? [];
    known.unshift(metricsOf(record.m));
    known.length = Math.min(known.length, SAMPLES);
    this.#samples.set(record.id, known);
  }

  /**
   * `actual`: where the other picker sent the request of this cycle. Undefined for a cycle soon
   * after one that was explained.
   */
  explain(actual: Endpoint, cycle: DecidedCycle): Explained | undefined {
    if (cycle.at - this.#explainedAt < EXPLAINED_EVERY_MS) return undefined;
    this.#explainedAt = cycle.at;
    // In turn: the random numbers of the core are for its decisions.
    const drawn = cycle.all[this.#drawn++ % cycle.all.length] ?? actual;
    return { why: this.#why(actual, cycle), drawn: this.#why(drawn, cycle) };
  }

  #why(actual: Endpoint, cycle: DecidedCycle): Why {
    const { primary } = cycle.decision;
    const target = primary.kind === 'picked' ? primary.targets[0]?.endpoint : undefined;
    if (target?.id === actual.id) return 'same';
    const rank = rankIn(actual, cycle.decision);
    if (rank === undefined) return 'not-scored';
    if (rank === 1) return 'tie';
    return this.#followsFromSamples(actual, cycle, rank) ? 'samples' : 'unexplained';
  }

  /** Takes its most favourable sample, and the least favourable ones of those that are better. */
  #followsFromSamples(actual: Endpoint, cycle: DecidedCycle, rank: number): boolean {
    if (rank > 1 + BETTER_MAX) return false;
    const { candidates, decision } = cycle;
    const taken = new Map<EndpointId, EndpointMetrics>();
    for (const endpoint of candidates) {
      const isActual = endpoint.id === actual.id;
      if (!isActual && (rankIn(endpoint, decision) ?? rank) >= rank) continue;
      taken.set(endpoint.id, this.#extreme(endpoint, cycle, isActual ? 1 : -1));
    }
    const again = decided(cycle, taken);
    return again !== undefined && bestOf(again).includes(actual.id);
  }

  /** The sample with which the endpoint has the highest score, or with -1 the lowest. */
  #extreme(endpoint: Endpoint, cycle: DecidedCycle, sign: 1 | -1): EndpointMetrics {
    let [extreme, most] = [endpoint.metrics, Number.NEGATIVE_INFINITY];
    for (const sample of this.#samples.get(endpoint.id) ?? []) {
      const again = decided(cycle, new Map([[endpoint.id, sample]]));
      const score = again && scoreIn(endpoint, again);
      if (score !== undefined && sign * score > most) [extreme, most] = [sample, sign * score];
    }
    return extreme;
  }
}

/** What the cycle's scheduler decides where these endpoints have other samples; it may refuse. */
function decided(
  { generation, candidates, context }: DecidedCycle,
  taken: ReadonlyMap<EndpointId, EndpointMetrics>,
): Decision | undefined {
  const changed = candidates.map((endpoint): Endpoint => {
    const metrics = taken.get(endpoint.id);
    if (metrics === undefined) return endpoint;
    return Object.create(endpoint, { metrics: { value: metrics } }) as Endpoint;
  });
  try {
    return generation.core.scheduler.schedule(changed, context);
  } catch (error) {
    if (error instanceof RoutingError) return undefined;
    throw error;
  }
}
