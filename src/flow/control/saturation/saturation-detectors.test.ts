import { describe, expect, test } from 'vitest';
import { makePool, NEVER, NOW } from '../../../../test/makers.ts';
import type { InFlightLoad, InFlightView } from '../../../framework/cycle-facts.ts';
import type { Endpoint } from '../../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../../framework/endpoint-attributes.ts';
import { poolSaturation } from './pool-saturation.ts';
import { backlog, concurrency, highest, utilization } from './saturation-detectors.ts';

const DEFAULTS = {
  queueDepthThreshold: 5,
  kvCacheUtilThreshold: 0.8,
  metricsStalenessThreshold: 200,
};

function inFlight(...load: readonly Partial<InFlightLoad>[]): InFlightView {
  return {
    load: ({ slot }) => ({
      requests: 0,
      pendingPrefillTokens: 0,
      contextTokens: 0,
      ...load[slot],
    }),
  };
}

describe('utilization', () => {
  const of = (fields: Parameters<typeof makePool>[0], view = inFlight()): number =>
    utilization(DEFAULTS, view).saturation({ endpoints: makePool(fields), at: NOW });

  test('[Q53] it is the fuller one of queue and memory, of each endpoint, and of several the mean', () => {
    expect(of([{ waiting: 5 }])).toBe(1);
    expect(of([{ waiting: 1, kv: 0.4 }])).toBe(0.5);
    expect(of([{ waiting: 10 }, { kv: 0.4 }])).toBe(1.25);
    expect(of([])).toBe(1);
  });

  test('[Q53] what was sent since the last sample counts as waiting', () => {
    expect(of([{ running: 8, waiting: 1 }], inFlight({ requests: 9 }))).toBe(0.2);
    expect(of([{ running: 8, waiting: 1 }], inFlight({ requests: 12 }))).toBe(0.8);
  });

  test('[Q321] the bound of the queue is that of each engine behind an address', () => {
    const attributes = [[ENGINE_COUNT as never, 4]] as never;
    expect(of([{ waiting: 10, attributes }])).toBe(0.5);
    expect(of([{ waiting: 10, attributes }, { waiting: 5 }])).toBe(0.75);
  });

  test('[Q57] with old samples requests go on slowly: as many as were running, or one', () => {
    const stale = { sampledAt: NOW - 201 };
    expect(of([stale])).toBe(0);
    expect(of([stale], inFlight({ requests: 1 }))).toBe(1);
    expect(of([{ ...stale, running: 4 }], inFlight({ requests: 3 }))).toBe(0.75);
    expect(of([{ sampledAt: NEVER }, { waiting: 5 }], inFlight({ requests: 7 }))).toBe(1);
  });

  test('[Q57] endpoints with old samples are left out where the configuration says so', () => {
    const detector = utilization({ ...DEFAULTS, stalenessPolicy: 'ignore' }, inFlight());
    const endpoints = makePool([{ sampledAt: NEVER }, { waiting: 2 }]);
    expect(detector.saturation({ endpoints, at: NOW })).toBe(0.4);
    expect(detector.saturation({ endpoints, at: NOW + 201 })).toBe(0);
    expect(detector.stale?.({ endpoints, at: NOW + 201 })).toBe(2);
  });
});

describe('concurrency', () => {
  const limits = { maxConcurrency: 10, maxTokenConcurrency: 1000 };
  const view = inFlight({ requests: 5, pendingPrefillTokens: 900 }, { requests: 10 });
  const of = (concurrencyMode: 'requests' | 'tokens' | 'hybrid'): number =>
    concurrency({ ...limits, concurrencyMode }, view).saturation({
      endpoints: makePool([{}, {}]),
      at: NOW,
    });

  test('[Q54] it is what is in flight over what may be, in requests, tokens or the fuller one', () => {
    expect(of('requests')).toBe(0.75);
    expect(of('tokens')).toBe(0.45);
    expect(of('hybrid')).toBe(0.95);
    const detector = concurrency({ ...limits, concurrencyMode: 'requests' }, view);
    expect(detector.saturation({ endpoints: [], at: NOW })).toBe(1);
  });
});

test('[Q321] the backlog of an endpoint is that of each of its engines', () => {
  const bounds = { maxPendingTokens: 1000, maxConcurrency: 10 };
  const view = inFlight({ requests: 20, pendingPrefillTokens: 3000 });
  const [four] = makePool([{ attributes: [[ENGINE_COUNT as never, 4]] }]) as readonly [Endpoint];
  const saturation = (endpoints: readonly Endpoint[]): number =>
    backlog(bounds, view).saturation({ endpoints, at: NOW });
  expect(saturation([four])).toBe(0.75);
  expect(saturation(makePool([{}]))).toBe(3);
});

describe('several detectors and stages', () => {
  const fixed = (saturation: number) => ({ saturation: () => saturation });

  test('[Q55] the highest of several counts, each for the stages that it is asked for', () => {
    const detector = highest([
      { name: 'a', detector: fixed(0.5) },
      { name: 'b', detector: fixed(0.9), stages: ['prefill'] },
    ]);
    expect(detector.saturation({ endpoints: [], at: NOW })).toBe(0.9);
    expect(detector.saturation({ endpoints: [], at: NOW, stage: 'prefill' })).toBe(0.9);
    expect(detector.saturation({ endpoints: [], at: NOW, stage: 'decode' })).toBe(0.5);
    const onlyB = highest([{ name: 'b', detector: fixed(0.9), stages: ['prefill'] }]);
    expect(onlyB.saturation({ endpoints: [], at: NOW, stage: 'decode' })).toBe(0);
  });

  test('[Q56] the fuller stage counts: idle servers of one do not help where the other is full', () => {
    const role = (name: string, waiting: number) => ({
      labels: { 'llm-d.ai/role': name },
      waiting,
    });
    const measure = poolSaturation(utilization(DEFAULTS, inFlight()));
    const split = measure(
      makePool([role('prefill', 10), role('decode', 0), role('decode', 1)]),
      NOW,
    );
    expect(split.effective).toBe(2);
    expect([...split.stages]).toEqual([
      ['prefill', 2],
      ['decode', 0.1],
    ]);
    const both = measure(makePool([role('both', 5), { waiting: 0 }, role('encode', 50)]), NOW);
    expect([...both.stages]).toEqual([
      ['prefill', 1],
      ['decode', 0.5],
    ]);
    expect(measure(makePool([role('encode', 5)]), NOW).effective).toBe(1);
    expect(measure([], NOW).effective).toBe(1);
  });

  test('[Q103][Q283] each stage has its own room, and its own endpoints that get requests', () => {
    const pool = makePool([
      { labels: { 'llm-d.ai/role': 'prefill' }, waiting: 1 },
      { labels: { 'llm-d.ai/role': 'decode' }, waiting: 2 },
      { labels: { 'llm-d.ai/role': 'decode' }, waiting: 3 },
    ]);
    const [prefill, , last] = pool;
    const detector = utilization(DEFAULTS, inFlight());
    const full = poolSaturation(detector, {
      hasRoom: (stage) => !stage.includes(prefill as Endpoint),
    });
    expect([...full(pool, NOW).stages]).toEqual([
      ['prefill', 1],
      ['decode', 0.5],
    ]);
    const takersAmong = (stage: readonly Endpoint[]) => stage.filter((each) => each !== last);
    const fewer = poolSaturation(detector, { takersAmong });
    expect([...fewer(pool, NOW).stages]).toEqual([
      ['prefill', 0.2],
      ['decode', 0.4],
    ]);
    const encoders = makePool([
      { labels: { 'llm-d.ai/role': 'encode' }, waiting: 9 },
      { waiting: 1, labels: { 'llm-d.ai/role': 'encode' } },
    ]);
    const one = poolSaturation(detector, { takersAmong: (stage) => stage.slice(1) });
    expect(one(encoders, NOW).effective).toBe(0.2);
  });
});

test('[Q111] by backlog, saturation is that of the least loaded endpoint', () => {
  const pool = makePool([{}, {}]);
  const loads = inFlight(
    { requests: 8, pendingPrefillTokens: 6000 },
    { requests: 4, pendingPrefillTokens: 256 },
  );
  const detector = backlog({ maxPendingTokens: 512, maxConcurrency: 16 }, loads);
  expect(detector.saturation({ endpoints: pool, at: 0 })).toBe(0.5);
  expect(detector.saturation({ endpoints: pool.slice(0, 1), at: 0 })).toBeGreaterThan(10);
  expect(detector.saturation({ endpoints: [], at: 0 })).toBe(1);
});
