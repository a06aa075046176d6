import type { Millis } from '../../src/framework/runtime.ts';
import { uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { studyServer } from '../scenarios/pools.ts';
import { type Ended, runBed } from './bed.ts';
import { withFlowControl } from './configs.ts';
import { atLeast, atMost, lost, type Row } from './figures.ts';
import { isGood } from './headroom-lead.ts';
import { requestsOf } from './traffic.ts';

export interface StepOptions {
  readonly coldStartMs: Millis;
  readonly seed: number;
  /** What the replicas at the start serve with goodput, per second. */
  readonly capacity: number;
  readonly sizes: { readonly promptTokens: number; readonly outputTokens: number };
}

const REPLICAS = 4;
/** Demand is half of the capacity, and then five times that. */
const LOAD = 0.5;
const GROWTH = 5;
/** The headroom has to watch for a minute before it asks for fewer replicas. */
const STEP_AT_MS: Millis = 70_000;
/** From the step on, requests that came before it are still answered. */
const SETTLED_MS: Millis = 10_000;
/** For how long demand is measured after the new replicas should serve. */
const AFTER_MS: Millis = 120_000;
const WINDOW_MS: Millis = 10_000;
const GOOD_SHARE = 0.95;
/**
 * Asking, in two rounds because replicas are at most doubled at once, and working off what waits.
 */
const RECOVERY_S = 60;

/** Five times the demand at once, and replicas that start as the headroom asks. */
export function stepWithAutoscaling(options: StepOptions): readonly Row[] {
  const { coldStartMs, seed, capacity, sizes } = options;
  const [before, after] = [LOAD * capacity, GROWTH * LOAD * capacity];
  const untilMs = STEP_AT_MS + coldStartMs + AFTER_MS;
  const traffic = {
    tenant: 'a',
    priority: 0,
    perSecond: (at: Millis) => (at < STEP_AT_MS ? before : after),
    perSecondMax: after,
    fromMs: 0,
    untilMs,
    ...sizes,
  };
  let most = 0;
  let firstMs = Number.POSITIVE_INFINITY;
  const ended = runBed({
    config: withFlowControl({ ttl: '1s' }),
    pool: uniformPool(REPLICAS, studyServer()),
    requests: requestsOf([traffic], seed),
    seed,
    coldStartMs,
    everySecond: (_headroom, at, serving) => {
      most = Math.max(most, serving);
      if (serving > REPLICAS) firstMs = Math.min(firstMs, at);
    },
  });
  const fromMs = STEP_AT_MS + SETTLED_MS;
  const untilFirstMs = Math.min(firstMs, untilMs);
  const good = goodIn(ended, fromMs, untilFirstMs).length / ((untilFirstMs - fromMs) / 1000);
  const needed = (REPLICAS * after) / capacity;
  const name = `step × 5, replicas that start in ${coldStartMs / 1000} s`;
  return [
    atLeast(`${name}: goodput meanwhile over the capacity`, good / capacity, GOOD_SHARE, 3),
    atMost(
      `${name}: seconds until 95 % are good again`,
      (recoveredMs(ended, untilMs) - STEP_AT_MS) / 1000,
      coldStartMs / 1000 + RECOVERY_S,
      0,
    ),
    atMost(`${name}: most replicas over those needed`, most / needed, 1.6),
    atMost(`${name}: lost, or answered twice`, lost(ended), 0, 0),
  ];
}

function goodIn(ended: readonly Ended[], fromMs: Millis, untilMs: Millis): readonly Ended[] {
  return ended.filter(
    (each) => each.sent.atMs >= fromMs && each.sent.atMs < untilMs && isGood(each),
  );
}

/** The end of the last ten seconds in which too few of those that came were answered well. */
function recoveredMs(ended: readonly Ended[], untilMs: Millis): Millis {
  let recovered = STEP_AT_MS;
  for (let from = STEP_AT_MS; from + WINDOW_MS <= untilMs; from += WINDOW_MS) {
    const came = ended.filter(({ sent }) => sent.atMs >= from && sent.atMs < from + WINDOW_MS);
    const good = goodIn(came, from, from + WINDOW_MS).length;
    if (good < GOOD_SHARE * came.length) recovered = from + WINDOW_MS;
  }
  return recovered;
}
