import type { Millis } from '../../src/framework/runtime.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { exponential, logNormal } from '../scenarios/arrivals.ts';
import type { Sent } from './bed.ts';

/** Requests of one kind: Poisson arrivals, log-normal sizes. */
export interface Traffic extends Pick<Sent, 'tenant' | 'priority'> {
  /** At a time; the highest there is bounds it. */
  readonly perSecond: (at: Millis) => number;
  readonly perSecondMax: number;
  readonly fromMs: Millis;
  readonly untilMs: Millis;
  /** The medians. */
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** How far sizes spread: the standard deviation of their logarithm. */
const SPREAD = 0.6;

/** A constant rate. */
export function steady(
  perSecond: number,
  more: Omit<Traffic, 'perSecond' | 'perSecondMax'>,
): Traffic {
  return { ...more, perSecond: () => perSecond, perSecondMax: perSecond };
}

/** All requests in the order of arrival. Equal seeds give equal requests. */
export function requestsOf(traffic: readonly Traffic[], seed: number): readonly Sent[] {
  return traffic
    .flatMap((each, index) => [...one(each, seed * 1000 + index)])
    .sort((a, b) => a.atMs - b.atMs);
}

function* one(traffic: Traffic, seed: number): Generator<Sent> {
  const { tenant, priority, perSecond, perSecondMax, fromMs, untilMs } = traffic;
  const random = seededRandom(seed);
  let atMs = fromMs;
  for (;;) {
    atMs += exponential(random, 1000 / perSecondMax);
    if (atMs >= untilMs) return;
    // Some of the arrivals at the highest rate are left out where the rate is lower.
    if (random.next() * perSecondMax >= perSecond(atMs)) continue;
    const promptTokens = Math.ceil(logNormal(random, traffic.promptTokens, SPREAD));
    const outputTokens = Math.ceil(logNormal(random, traffic.outputTokens, SPREAD));
    yield { atMs, tenant, priority, promptTokens, outputTokens };
  }
}
