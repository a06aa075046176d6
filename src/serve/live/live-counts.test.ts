import { expect, it } from 'vitest';
import { makeDecision, makeEndpoint, makeRequest, makeRouted } from '../../../test/makers.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { LiveCounts, STEP_MS } from './live-counts.ts';

const EPOCH = Date.UTC(2030, 0, 1);

it('[O9] has counted the last ten minutes when a page is opened, and no more', () => {
  const clock = new SimulatedClock({ epoch: EPOCH });
  const counts = new LiveCounts(clock);
  for (let second = 0; second < 1000; second++) {
    clock.advanceTo(1000 * second);
    counts.onDecision(makeDecision({ at: clock.now() }));
  }
  clock.advanceTo(1_000_000);
  const steps = counts.ended(0);
  expect(steps).toHaveLength(299);
  expect(new Set(steps.map(({ picked }) => picked))).toEqual(new Set([2]));
  expect(steps.at(-1)?.wallMs).toBe(EPOCH + 998_000);
});

it('[O9] counts nothing for the time in which nothing happened', () => {
  const clock = new SimulatedClock();
  const counts = new LiveCounts(clock);
  counts.onDecision(makeDecision({ at: 0 }));
  clock.advanceTo(10 * STEP_MS);
  counts.onDecision(makeDecision({ at: clock.now(), error: new Error('full') }));
  counts.onRefused();
  const waited = { heldMs: 30, endpoint: undefined, cachedTokens: 0 };
  counts.onDecision(makeDecision({ at: clock.now(), options: { waited } }));
  clock.advanceTo(5000 * STEP_MS);
  counts.onDecision(makeDecision({ at: clock.now() }));
  expect(counts.ended(0).every(({ picked, refused }) => picked + refused === 0)).toBe(true);
  clock.advanceTo(5001 * STEP_MS);
  expect(counts.ended(5000)).toMatchObject([{ picked: 1, refused: 0, held: 0, ttftMs: null }]);
});

it('[O281] counts a request as held from a millisecond on', () => {
  const clock = new SimulatedClock();
  const counts = new LiveCounts(clock);
  for (const heldMs of [0.06, 0.99, 1, 30]) {
    const waited = { heldMs, endpoint: undefined, cachedTokens: 0 };
    counts.onDecision(makeDecision({ at: 0, options: { waited } }));
  }
  clock.advanceTo(STEP_MS);
  expect(counts.ended(0)).toMatchObject([{ picked: 4, held: 2 }]);
});

it('[O217] counts each client that is refused once, with a decision or without', () => {
  const clock = new SimulatedClock();
  const counts = new LiveCounts(clock);
  counts.onDecision(makeDecision({ at: 0, error: new Error('no endpoint') }));
  counts.onRefused();
  counts.onRefused();
  clock.advanceTo(STEP_MS);
  expect(counts.ended(0)).toMatchObject([{ picked: 0, refused: 2 }]);
});

it('[O219] counts requests that model servers have failed', () => {
  const clock = new SimulatedClock();
  const counts = new LiveCounts(clock);
  const routed = makeRouted(makeEndpoint('a'), { at: 0 });
  for (const outcome of ['failed', 'failed', 'completed', 'aborted'] as const) {
    counts.onDone(routed, 0, outcome);
  }
  clock.advanceTo(2 * STEP_MS);
  expect(counts.ended(0)).toMatchObject([{ failed: 2 }, { failed: 0 }]);
});

it('[O1] compares times to first token with what was predicted, each within 5 %', () => {
  const clock = new SimulatedClock();
  const counts = new LiveCounts(clock);
  const random = seededRandom(7);
  const times: number[] = [];
  const request = makeRequest({ streaming: true });
  for (let n = 0; n < 500; n++) {
    const ms = 2 + 5000 * random.next() ** 3;
    times.push(ms + 10);
    const routed = makeRouted(makeEndpoint('a'), {
      request,
      at: 100 - ms,
      heldMs: 10,
      expectedTtftMs: 2 * ms,
    });
    counts.onFirstToken(routed, 100);
  }
  const whole = makeRouted(makeEndpoint('a'), { at: 0, expectedTtftMs: 1 });
  counts.onFirstToken({ ...whole, request: makeRequest({ streaming: false }) }, 99_999);
  clock.advanceTo(STEP_MS);
  const [{ ttftMs } = { ttftMs: null }] = counts.ended(0);
  const sorted = times.toSorted((a, b) => a - b);
  const within = (value: number | null | undefined, right: number): void => {
    expect(value ?? 0).toBeGreaterThan(0.94 * right);
    expect(value ?? 0).toBeLessThan(1.06 * right);
  };
  expect(ttftMs?.count).toBe(500);
  within(ttftMs?.median, sorted[250] ?? 0);
  within(ttftMs?.p95, sorted[475] ?? 0);
  within(ttftMs?.predictedMedian, 2 * ((sorted[250] ?? 0) - 10) + 10);
});

it('[O1] counts which share of the prompts lately sent to an endpoint was expected in its cache', () => {
  const counts = new LiveCounts(new SimulatedClock());
  const endpoint = makeEndpoint('a');
  const send = (at: number, cachedTokens: number): void =>
    counts.onRouted(
      makeRouted(endpoint, { request: makeRequest({ promptTokens: 100 }), at, cachedTokens }),
    );
  expect(counts.hits.rate(endpoint, 0)).toBeUndefined();
  send(1, 0);
  send(1, 50);
  expect(counts.hits.rate(endpoint, 1)).toBe(0.25);
  // What was sent long ago counts for little.
  send(200_000, 100);
  expect(counts.hits.rate(endpoint, 200_000)).toBeGreaterThan(0.95);
  expect(counts.hits.rate(endpoint, 900_000)).toBeUndefined();
  counts.onEndpointRemoved(endpoint);
  expect(counts.hits.rate(endpoint, 200_000)).toBeUndefined();
});
