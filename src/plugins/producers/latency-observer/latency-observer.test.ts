import { describe, expect, test } from 'vitest';
import { makeContext, makeEndpoint, makeRouted, makeRuntime } from '../../../../test/makers.ts';
import { type LatencyAnchors, latencyAnchorsKey } from '../../../framework/cycle-facts.ts';
import type { DataSource } from '../../../framework/plugin.ts';
import { EndpointPool } from '../../../picker/pool/endpoint-pool.ts';
import { latencyObserver } from './latency-observer.ts';

const endpoint = makeEndpoint('pod-0');

function observer(parameters: object = {}): DataSource {
  const host = { name: 'o', pool: new EndpointPool(), runtime: makeRuntime() };
  const source = latencyObserver.start(latencyObserver.config.parse(parameters), host);
  source.onEndpointAdded?.(endpoint);
  return source;
}

/** Observes these times to the first token, one request a second from `at` on. */
function observe(source: DataSource, times: readonly number[], at = 0): void {
  times.forEach((ttftMs, index) => {
    const sentAt = at + 1000 * index;
    const load = { requests: index, pendingPrefillTokens: 0, contextTokens: 0 };
    const routed = makeRouted(endpoint, { at: sentAt, load, firstTokenVisible: true });
    source.onFirstToken?.(routed, sentAt + ttftMs);
  });
}

function anchors(source: DataSource, now: number): LatencyAnchors | undefined {
  const fact = source.facts?.find(({ key }) => key.name === latencyAnchorsKey('o').name);
  const view = fact?.compute([], makeContext({ now })) as {
    anchorsOf(of: unknown): LatencyAnchors | undefined;
  };
  return view.anchorsOf(endpoint);
}

/** 100, 200, … 1,100 ms with 0, 1, … 10 requests in flight. */
const ELEVEN = Array.from({ length: 11 }, (_, index) => 100 * (index + 1));

describe('latency-observer-producer-hub', () => {
  test('[D171] gives percentiles of recent times, and the mean load around them', () => {
    const source = observer();
    observe(source, ELEVEN);
    expect(anchors(source, 20_000)).toEqual({
      floorMs: 200,
      low: { ttftMs: 350, requests: 2 },
      typical: { ttftMs: 600, requests: 5 },
      calibrated: true,
    });
  });

  test('[D171] an endpoint with fewer than minRequests observations is not known', () => {
    const source = observer({ minRequests: 12 });
    observe(source, ELEVEN);
    expect(anchors(source, 20_000)).toBeUndefined();
  });

  test('[D171] keeps the floor of quiet minutes while the endpoint is busy', () => {
    const source = observer();
    observe(source, ELEVEN);
    observe(
      source,
      Array.from({ length: 30 }, () => 4000),
      70_000,
    );
    const busy = anchors(source, 110_000);
    expect(busy?.floorMs).toBe(200);
    expect(busy?.typical.ttftMs).toBe(4000);
  });

  test('[D171] relies on nothing that is older than maxObservationAge', () => {
    const source = observer({ maxObservationAge: '30s' });
    observe(source, ELEVEN);
    expect(anchors(source, 60_000)?.calibrated).toBe(false);
  });

  test('[D617] lowPercentile says which times are low', () => {
    const source = observer({ lowPercentile: 10 });
    observe(source, ELEVEN);
    expect(anchors(source, 20_000)?.low.ttftMs).toBe(200);
  });

  test('[D617] the floor of a bucket is that of its newest windowSize times', () => {
    const source = observer({ windowSize: 3, maxRequests: 3, minRequests: 1 });
    observe(source, ELEVEN);
    expect(anchors(source, 70_000)?.floorMs).toBe(920);
  });

  test('[D617] of more than bucketHistorySize floors the slowest goes', () => {
    const source = observer({ bucketDuration: '20s', bucketHistorySize: 2, minRequests: 1 });
    for (const [index, ttftMs] of [100, 200, 4000, 5000].entries()) {
      observe(source, [ttftMs], 30_000 * index);
    }
    expect(anchors(source, 150_000)?.floorMs).toBe(110);
  });

  test('[D171] computes anew once in an interval', () => {
    const source = observer();
    observe(source, ELEVEN);
    const before = anchors(source, 20_000);
    observe(source, [9000], 19_000);
    expect(anchors(source, 20_999)).toBe(before);
    expect(anchors(source, 21_000)).not.toBe(before);
  });

  test('[D171] refuses percentiles that are not in order', () => {
    expect(() => latencyObserver.config.parse({ lowPercentile: 50 })).toThrow('below typical');
    expect(() => latencyObserver.config.parse({ maxRequests: 6000 })).toThrow('at most windowSize');
  });
});
