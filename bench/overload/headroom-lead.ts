import type { Millis } from '../../src/framework/runtime.ts';
import type { PoolSpec } from '../../src/lab/simulate/pool-spec.ts';
import { type Ended, runBed } from './bed.ts';
import { requestsOf, type Traffic } from './traffic.ts';

/** How demand grows by five times: at once, or over so many milliseconds. */
export interface LeadOptions {
  readonly pool: PoolSpec;
  readonly config: string;
  readonly seed: number;
  /** The demand after the step. Before, it is a fifth of that. */
  readonly perSecond: number;
  readonly stepAtMs: Millis;
  readonly overMs: Millis;
  readonly forMs: Millis;
  readonly sizes: Pick<Traffic, 'promptTokens' | 'outputTokens'>;
}

export interface Lead {
  /** When more replicas are first asked for than there are, after the step has begun. */
  readonly askedAtMs: Millis | undefined;
  /** The first ten seconds in which more than one in a hundred misses an objective begin here. */
  readonly missedAtMs: Millis | undefined;
  /** The capacity in requests per second, as it was estimated last. */
  readonly capacity: number;
  readonly goodput: number;
}

const WINDOW_MS = 10_000;
const MISSED_SHARE_MAX = 0.01;
const GROWTH = 5;

/**
 * How long before the first missed objectives an autoscaler learns that replicas will be too few.
 */
export function headroomLead(options: LeadOptions): Lead {
  const { pool, config, seed, perSecond, stepAtMs, overMs, forMs, sizes } = options;
  const rateAt = (at: Millis): number => {
    const begun = at < stepAtMs ? 0 : 1;
    const share = overMs === 0 ? begun : Math.max(0, (at - stepAtMs) / overMs);
    return (perSecond / GROWTH) * (1 + (GROWTH - 1) * Math.min(1, share));
  };
  const traffic = {
    tenant: 'a',
    priority: 0,
    perSecond: rateAt,
    perSecondMax: perSecond,
    fromMs: 0,
    untilMs: stepAtMs + forMs,
    ...sizes,
  };
  let askedAtMs: Millis | undefined;
  let capacity = 0;
  const ended = runBed({
    config,
    pool,
    requests: requestsOf([traffic], seed),
    seed,
    everySecond: (headroom, at) => {
      const [stage] = headroom.report().stages;
      if (stage === undefined) return;
      capacity = stage.requestsPerSecond?.capacity ?? 0;
      if (at >= stepAtMs && stage.desiredReplicas > stage.replicas) askedAtMs ??= at;
    },
  });
  const good = ended.filter(isGood).length / ended.length;
  return { askedAtMs, missedAtMs: firstMiss(ended, stepAtMs), capacity, goodput: good };
}

/**
 * Within the objectives of the policy study: 2 s to the first token, 100 ms to each further one.
 */
export function isGood({ ttftMs, e2eMs, refused, sent }: Ended): boolean {
  if (refused !== undefined || ttftMs === undefined || e2eMs === undefined) return false;
  const tpotMs = sent.outputTokens > 1 ? (e2eMs - ttftMs) / (sent.outputTokens - 1) : 0;
  return ttftMs < 2000 && tpotMs < 100;
}

function firstMiss(ended: readonly Ended[], fromMs: Millis): Millis | undefined {
  const windows = Map.groupBy(ended, ({ sent }) => Math.floor(sent.atMs / WINDOW_MS));
  const missed = [...windows]
    .filter(([window]) => window * WINDOW_MS >= fromMs)
    .find(([, each]) => each.filter((one) => !isGood(one)).length > MISSED_SHARE_MAX * each.length);
  return missed && missed[0] * WINDOW_MS;
}
