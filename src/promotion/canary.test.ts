import { describe, expect, it } from 'vitest';
import { makeDecision, makeEndpoint, makeRequest } from '../../test/makers.ts';
import { RoutingError } from '../framework/error.ts';
import type { Routed } from '../framework/observer.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { Decision } from '../framework/scheduling.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { CANARY_HEADER, Canary } from './canary.ts';
import { RecentFailures } from './recent-failures.ts';

const endpoint = makeEndpoint('a');
const load = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
const routedOf = (request: InferenceRequest): Routed => ({
  number: 0,
  request,
  endpoint,
  at: 100,
  cachedTokens: 0,
  load,
  firstTokenVisible: true,
});
const DECISION: Decision = {
  primary: { kind: 'picked', profile: 'default', targets: [{ endpoint, score: 1 }] },
  profiles: [],
  headers: new Map(),
};
const asking = (id: string, wanted: string): InferenceRequest =>
  makeRequest({ id, headers: new Map([[CANARY_HEADER, wanted]]) });

describe('a canary', () => {
  it('takes its share of requests, and always gives the same answer for a request', () => {
    const canary = new Canary(seededRandom(4));
    const requests = Array.from({ length: 10_000 }, (_, n) => makeRequest({ id: `r${n}` }));
    expect(requests.filter(canary.takes)).toHaveLength(0);
    canary.setShare(20);
    const taken = requests.filter(canary.takes);
    // 2,000, give or take 40. Seed 4.
    expect(Math.abs(taken.length - 2000)).toBeLessThan(160);
    expect(requests.filter(canary.takes)).toEqual(taken);
    canary.setShare(0);
    expect(requests.filter(canary.takes)).toHaveLength(0);
    canary.setShare(100);
    expect(requests.filter(canary.takes)).toHaveLength(10_000);
  });

  it('follows the header, and does not count such requests', () => {
    const canary = new Canary(seededRandom(4));
    canary.setShare(0);
    const request = asking('r1', 'challenger');
    expect(canary.takes(request)).toBe(true);
    canary.onDone(routedOf(request), 200, 'failed');
    canary.setShare(100);
    expect(canary.takes(asking('r2', 'incumbent'))).toBe(false);
    expect(canary.takes(asking('r3', 'nonsense'))).toBe(true);
    expect(canary.outcomes().challenger.requests).toBe(0);
  });

  it('counts first tokens, whole answers that were not streamed and failures, but no aborted requests', () => {
    const canary = new Canary(seededRandom(4));
    canary.setShare(100);
    const [streamed, whole, failed, refused, aborted] = ['s', 'w', 'f', 'r', 'a'].map((id) => {
      const request = makeRequest({ id });
      canary.takes(request);
      return request;
    }) as [
      InferenceRequest,
      InferenceRequest,
      InferenceRequest,
      InferenceRequest,
      InferenceRequest,
    ];
    const stream = routedOf(streamed);
    canary.onFirstToken(stream, 150);
    canary.onDone(stream, 900, 'completed');
    canary.onDone(routedOf(whole), 250, 'completed');
    canary.onDone(routedOf(failed), 900, 'failed');
    const error = new RoutingError('saturated', 'full');
    canary.onDecision(makeDecision({ request: refused, error }));
    const left = routedOf(aborted);
    canary.onFirstToken(left, 200);
    canary.onDone(left, 900, 'aborted');
    expect(canary.outcomes().challenger).toEqual({
      requests: 4,
      failed: 2,
      aborted: 0,
      undecided: {},
      latency: { count: 3, meanMs: 100, varianceMs2: 2500, waitedMs: 0 },
    });
  });

  it('[O387] counts what a request has waited at the picker', () => {
    const canary = new Canary(seededRandom(4));
    canary.setShare(100);
    const request = makeRequest({ id: 'held' });
    canary.takes(request);
    canary.onFirstToken({ ...routedOf(request), heldMs: 400 }, 150);
    const { latency } = canary.outcomes().challenger;
    expect(latency).toMatchObject({ meanMs: 450, waitedMs: 400 });
  });

  it('[O388] counts a request that its client gave up on with the time until then, also one that waited', () => {
    const canary = new Canary(seededRandom(4));
    canary.setShare(50);
    const requests = Array.from({ length: 20 }, (_, n) => makeRequest({ id: `r${n}` }));
    const [own, other] = [true, false].map((takes) =>
      requests.find((request) => canary.takes(request) === takes),
    );
    canary.onDone({ ...routedOf(own as InferenceRequest), heldMs: 20 }, 600, 'aborted');
    canary.onLeft(other as InferenceRequest, 700);
    expect(canary.outcomes()).toMatchObject({
      challenger: { requests: 0, aborted: 1, latency: { count: 1, meanMs: 520, waitedMs: 20 } },
      incumbent: { requests: 0, aborted: 1, latency: { count: 1, meanMs: 700, waitedMs: 700 } },
    });
    canary.onLeft(asking('named', 'incumbent'), 700);
    expect(canary.outcomes().incumbent.aborted).toBe(1);
  });

  it('[G204] counts what its scheduler left to the profiles, but not where it had no opinion', () => {
    const canary = new Canary(seededRandom(4));
    canary.setShare(100);
    const decided = (id: string, reason?: string): void => {
      const request = makeRequest({ id });
      canary.takes(request);
      const insteadOf = reason === undefined ? undefined : { scheduler: 's', reason };
      canary.onDecision(makeDecision({ request, decision: { ...DECISION, insteadOf } }));
    };
    decided('r1');
    decided('r2', 'deadline');
    decided('r3', 'no-opinion');
    for (let n = 0; n < 40; n++) decided(`more${n}`, `reason ${n}`);
    const { challenger, recent } = canary.outcomes();
    expect(recent.undecided).toEqual({ requests: 43, failed: 41 });
    expect(challenger.undecided).toMatchObject({ deadline: 1, 'reason 14': 1, other: 25 });
    canary.setShare(50);
    expect(canary.outcomes()).toMatchObject({
      challenger: { undecided: {} },
      recent: { undecided: { requests: 0 } },
    });
  });

  it('[G204] gives a scheduler time to connect after its promotion, but not for ever', () => {
    const canary = new Canary(seededRandom(4));
    const insteadOf = { scheduler: 's', reason: 'disconnected' };
    const decided = (at: number, by: Partial<Decision> = { insteadOf }): void => {
      const request = makeRequest({ id: `at ${at}` });
      canary.takes(request);
      canary.onDecision(makeDecision({ at, request, decision: { ...DECISION, ...by } }));
    };
    const counted = (): unknown => canary.outcomes().recent.undecided;
    canary.begin();
    canary.setShare(5);
    canary.setShare(100);
    for (let at = 1000; at < 11_000; at += 1000) decided(at);
    expect(counted()).toEqual({ requests: 0, failed: 0 });
    expect(canary.outcomes().challenger.undecided).toEqual({ disconnected: 10 });
    decided(11_000);
    expect(counted()).toEqual({ requests: 1, failed: 1 });
    canary.begin();
    canary.setShare(100);
    decided(20_000);
    decided(20_001, {});
    decided(20_002);
    expect(counted()).toEqual({ requests: 2, failed: 1 });
  });

  it('leaves a request to the plan in charge after its scheduler threw, and counts it as failed', () => {
    const canary = new Canary(seededRandom(4));
    canary.setShare(100);
    const request = makeRequest({ id: 'r1' });
    expect(canary.takes(request)).toBe(true);
    canary.fallBack(request);
    expect(canary.takes(request)).toBe(false);
    canary.onDone(routedOf(request), 200, 'completed');
    expect(canary.outcomes()).toMatchObject({
      challenger: { requests: 1, failed: 1 },
      incumbent: { requests: 0 },
    });
  });

  it('[V74] counts recent failures of the configuration in charge before a promotion, too', () => {
    const canary = new Canary(seededRandom(4));
    const done = (id: string, outcome: 'completed' | 'failed') => {
      const request = makeRequest({ id });
      canary.takes(request);
      canary.onDone(routedOf(request), 200, outcome);
    };
    for (let n = 0; n < 100; n++) done(`before${n}`, n < 3 ? 'failed' : 'completed');
    canary.setShare(100);
    for (let n = 0; n < 50; n++) done(`after${n}`, n < 20 ? 'failed' : 'completed');
    expect(canary.outcomes().recent).toEqual({
      incumbent: { requests: 100, failed: 3 },
      challenger: { requests: 50, failed: 20 },
      undecided: { requests: 0, failed: 0 },
    });
    const late = makeRequest({ id: 'late' });
    canary.takes(late);
    canary.setShare(undefined);
    canary.onDone(routedOf(late), 300, 'failed');
    expect(canary.outcomes().recent.incumbent.failed).toBe(3);
    canary.onAdopted();
    expect(canary.outcomes().recent.incumbent).toEqual({ requests: 0, failed: 0 });
  });

  it('[V595] counts no failure of an earlier share for the configuration in charge', () => {
    const canary = new Canary(seededRandom(4));
    canary.setShare(100);
    const early = makeRequest({ id: 'early' });
    canary.takes(early);
    canary.setShare(50);
    canary.setShare(undefined);
    canary.onDone(routedOf(early), 300, 'failed');
    expect(canary.outcomes().recent.incumbent).toEqual({ requests: 0, failed: 0 });
  });

  it('[V74] weighs recent requests more than old ones', () => {
    const recent = new RecentFailures();
    for (let n = 0; n < 1_000_000; n++) recent.ended(false);
    for (let n = 0; n < 1000; n++) recent.ended(true);
    const { requests, failed } = recent.report();
    expect(failed / requests).toBeGreaterThan(0.09);
  });

  it('resets its counts when the share changes, and ignores requests from before', () => {
    const canary = new Canary(seededRandom(4));
    canary.setShare(100);
    const request = makeRequest({ id: 'r1' });
    canary.takes(request);
    canary.setShare(50);
    canary.onDone(routedOf(request), 200, 'completed');
    expect(canary.outcomes().challenger.requests).toBe(0);
  });
});
