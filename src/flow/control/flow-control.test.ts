import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FlowControlBench, makeBand } from '../../../test/decision/flow-control-bench.ts';
import { makePool, makeRequest, NOW } from '../../../test/makers.ts';
import { RoutingError } from '../../framework/error.ts';
import type { Waiting } from '../discipline.ts';
import type { Before } from './fairness/flow.ts';
import { firstCome } from './orderings.ts';
import { holdback } from './saturation/usage-limits.ts';

const SEED = 19;

function refusal(act: () => unknown): RoutingError {
  try {
    act();
  } catch (error) {
    if (error instanceof RoutingError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const idsOf = (waiting: readonly Waiting[]): readonly string[] =>
  waiting.map(({ request }) => request.id);

describe('bands', () => {
  test('[Q40] the highest priority is served first, and each band in the order of arrival', () => {
    const bench = new FlowControlBench({}, 4);
    for (const priority of [0, -1, 7, 0, 7]) bench.wait({ priority });
    expect(idsOf(bench.place())).toEqual(['r2', 'r4', 'r0', 'r3']);
    expect(bench.control.size).toBe(1);
    expect(bench.place()).toEqual([]);
  });

  test('[Q40] a band that is closed closes those below it, even if it has nothing waiting', () => {
    const usageLimit = () => holdback({ minCeiling: 0.25, maxCeiling: 1, domain: 'rank' });
    const bench = new FlowControlBench({ usageLimit }, 4);
    bench.wait({ priority: 1 });
    for (let count = 0; count < 4; count++) bench.wait({ priority: 0 });
    for (let count = 0; count < 4; count++) bench.wait({ priority: -1 });
    // Ceilings 1, 0.625 and 0.25: the lowest is closed as soon as one request is in flight.
    expect(bench.place().map(({ request }) => request.priority)).toEqual([1, 0, 0]);
  });

  test('[Q40] a band of its own has its own limits, and any other priority those of the default', () => {
    const bands = new Map([[5, makeBand({ maxRequests: 1 })]]);
    const negativeBand = makeBand({ maxRequests: 2 });
    const bench = new FlowControlBench({
      bands,
      negativeBand,
      defaultBand: makeBand({ maxRequests: 3 }),
    });
    for (const [priority, most] of [
      [5, 1],
      [-3, 2],
      [4, 3],
      [0, 3],
    ] as const) {
      for (let count = 0; count < most; count++) bench.wait({ priority });
      const error = refusal(() => bench.wait({ priority }));
      expect(error.message).toContain(`at most ${most} requests with priority ${priority}`);
    }
  });
});

describe('limits', () => {
  test('[Q41] a full queue refuses with 429, and with 503 where the pool has no endpoint', () => {
    const bench = new FlowControlBench({ maxRequests: 1 });
    bench.wait();
    expect(refusal(() => bench.wait()).code).toBe('saturated');
    bench.endpoints = [];
    expect(refusal(() => bench.wait()).code).toBe('no-endpoints');
  });

  test('[Q41] limits hold in the order bytes, requests, bytes of the band, requests of the band', () => {
    const bands = new Map([[0, makeBand({ maxBytes: 30, maxRequests: 3 })]]);
    const bench = new FlowControlBench({ maxBytes: 100, maxRequests: 5, bands });
    const error = (bytes: number) => refusal(() => bench.wait({}, NOW, bytes)).message;
    expect(error(101)).toContain('at most 100 bytes in all bands');
    expect(error(31)).toContain('at most 30 bytes with priority 0');
    // [O528] Clients and operators read it.
    const wide = new FlowControlBench({ maxBytes: 12_345 });
    const tooLong = refusal(() => wide.wait({}, NOW, 12_346)).message;
    expect(tooLong).toContain('the queue is full: it holds at most 12,345 bytes in all bands');
    bench.wait({}, NOW, 20);
    expect(error(11)).toContain('at most 30 bytes with priority 0');
    bench.wait({ priority: 1 }, NOW, 70);
    expect(error(11)).toContain('at most 100 bytes in all bands');
    bench.control.replaced();
    for (let count = 0; count < 3; count++) bench.wait({}, NOW, 10);
    expect(error(0)).toContain('at most 3 requests with priority 0');
    for (let count = 0; count < 2; count++) bench.wait({ priority: 1 }, NOW, 0);
    expect(error(0)).toContain('at most 5 requests in all bands');
  });
});

describe('times', () => {
  test('[Q50] a request waits as long as its band says, with another limit without endpoints', () => {
    const bands = new Map([[1, makeBand({ requestTtlMs: 500 })]]);
    const bench = new FlowControlBench({ requestTtlMs: 2000, noEndpointTtlMs: 5000, bands }, 0.5);
    bench.inFlight = 1;
    bench.wait();
    bench.wait({ priority: 1 });
    expect(bench.control.expired(NOW + 499)).toEqual([]);
    const [dropped] = bench.control.expired(NOW + 500);
    expect(dropped?.waiting.request.priority).toBe(1);
    expect(dropped?.error.code).toBe('queue-timeout');
    bench.endpoints = [];
    expect(bench.control.expired(NOW + 1999)).toEqual([]);
    // The time begins anew when the pool gets or loses its endpoints.
    expect(bench.control.expired(NOW + 6998)).toEqual([]);
    const [last] = bench.control.expired(NOW + 6999);
    expect(last?.error.code).toBe('no-endpoints');
    expect(last?.error.message).toMatch(/has waited 6,999 ms, and the pool has no endpoint/);
  });

  test('[Q50] a request that has waited for the first endpoint is not refused when it comes', () => {
    const bench = new FlowControlBench({ requestTtlMs: 1000, noEndpointTtlMs: 600_000 });
    bench.endpoints = [];
    bench.wait();
    expect(bench.control.expired(NOW + 300_000)).toEqual([]);
    bench.endpoints = makePool([{}]);
    expect(bench.control.expired(NOW + 300_001)).toEqual([]);
    expect(bench.place(NOW + 300_001)).toHaveLength(1);
  });

  test('[Q51] a client may shorten its time, and give one where there is none, but not extend it', () => {
    const ttl = (text: string) => ({ headers: new Map([['x-llm-d-inference-ttl', text]]) });
    const waitsFor = (text: string, requestTtlMs: number): number | undefined => {
      const bench = new FlowControlBench({ requestTtlMs });
      bench.wait(ttl(text));
      const times = [1499, 1500, 1999, 2000, 59_999, 60_000, 1e9];
      return times.find((ms) => bench.control.expired(NOW + ms).length > 0);
    };
    expect(waitsFor('1500ms', 2000)).toBe(1500);
    expect(waitsFor('1m', 2000)).toBe(2000);
    expect(waitsFor('1m', Number.POSITIVE_INFINITY)).toBe(60_000);
    expect(waitsFor('0s', Number.POSITIVE_INFINITY)).toBeUndefined();
    expect(waitsFor('soon', 2000)).toBe(2000);
  });
});

describe('beside another replica', () => {
  test('[O177] an answer that a flow has got there counts in its share', () => {
    const bench = new FlowControlBench({ defaultBand: makeBand({ fairness: 'tokens' }) }, 1000);
    const flows = ['a', 'b', 'a', 'b'];
    for (const fairnessId of flows) bench.wait({ fairnessId, promptTokens: 10 });
    const there = makeRequest({ id: 'there', fairnessId: 'a', promptTokens: 10 });
    bench.control.placedElsewhere(there, NOW);
    const served = { promptTokens: 10, outputTokens: 100_000, latencyMs: 1 };
    bench.control.endedElsewhere(there, served, NOW);
    expect(bench.place().map(({ request }) => request.fairnessId)).toEqual(['b', 'b', 'a', 'a']);
  });
});

describe('scale from zero', () => {
  test('[Q61] requests wait for the first endpoint, and leave only as fast as it takes them', () => {
    const bench = new FlowControlBench({}, 10);
    bench.endpoints = [];
    const waiting = Array.from({ length: 100 }, () => bench.wait());
    expect(bench.place()).toEqual([]);
    bench.endpoints = makePool([{}]);
    const first = bench.place();
    expect(idsOf(first)).toEqual(idsOf(waiting.slice(0, 10)));
    for (const one of first.slice(0, 3)) bench.end(one);
    expect(bench.place()).toHaveLength(3);
  });
});

type Step =
  | {
      readonly does: 'add';
      readonly priority: number;
      readonly flow: number;
      readonly bytes: number;
    }
  | { readonly does: 'place'; readonly most: number }
  | { readonly does: 'end' | 'remove'; readonly which: number }
  | { readonly does: 'wait'; readonly ms: number }
  | { readonly does: 'empty' | 'fill' };

const STEPS = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        does: fc.constant('add' as const),
        priority: fc.integer({ min: -2, max: 2 }),
        flow: fc.nat(4),
        bytes: fc.nat(50),
      }),
    },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('place' as const), most: fc.nat(4) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        does: fc.constantFrom('end' as const, 'remove' as const),
        which: fc.nat(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('wait' as const), ms: fc.nat(400) }) },
    {
      weight: 1,
      arbitrary: fc.record({ does: fc.constantFrom('empty' as const, 'fill' as const) }),
    },
  ),
  { maxLength: 120 },
);

describe('whatever happens', () => {
  test('[Q42] every request is placed, dropped with a reason or removed, once, within the limits', () => {
    fc.assert(
      fc.property(STEPS, fc.constantFrom('strict', 'robin'), (steps, fairness) => {
        const defaultBand = makeBand({ fairness, maxRequests: 6, maxBytes: 150 });
        const bench = new FlowControlBench(
          { defaultBand, maxRequests: 10, maxBytes: 300, requestTtlMs: 500, noEndpointTtlMs: 700 },
          3,
        );
        runSteps(bench, steps);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });
});

function runSteps(bench: FlowControlBench, steps: readonly Step[]): void {
  const { control } = bench;
  const waiting = new Set<Waiting>();
  const running: Waiting[] = [];
  let at = NOW;
  const leave = (one: Waiting): void => expect(waiting.delete(one)).toBe(true) as unknown as void;
  for (const step of steps) {
    if (step.does === 'add') {
      const { priority, flow, bytes } = step;
      try {
        waiting.add(bench.wait({ priority, fairnessId: `f${flow}` }, at, bytes));
      } catch (error) {
        expect(error).toBeInstanceOf(RoutingError);
      }
    } else if (step.does === 'place') {
      const placed = bench.place(at, step.most);
      placed.forEach(leave);
      running.push(...placed);
      expect(bench.inFlight).toBeLessThanOrEqual(3);
    } else if (step.does === 'end') {
      const [one] = running.splice(step.which % Math.max(1, running.length), 1);
      if (one !== undefined) bench.end(one, at);
    } else if (step.does === 'remove') {
      const one = [...waiting][step.which % Math.max(1, waiting.size)];
      if (one === undefined) continue;
      control.remove(one);
      leave(one);
    } else if (step.does === 'wait') {
      at += step.ms;
      for (const { waiting: one } of control.expired(at)) leave(one);
      expect(control.expired(at)).toEqual([]);
    } else bench.endpoints = step.does === 'empty' ? [] : makePool([{}]);
    expect(control.size).toBe(waiting.size);
    expect(control.bytes).toBe([...waiting].reduce((sum, { bytes }) => sum + bytes, 0));
    expect(control.size).toBeLessThanOrEqual(10);
    expect(control.bytes).toBeLessThanOrEqual(300);
    for (const band of control.bands.all) expect(band.size).toBeLessThanOrEqual(6);
  }
  for (const { waiting: one } of control.expired(at)) leave(one);
  for (const { waiting: one } of control.expired(at + 700)) leave(one);
  expect(waiting.size).toBe(0);
  expect(control.size).toBe(0);
}

test('[Q60] with 20,000 requests of 1,000 flows, a step compares few of them', () => {
  let compared = 0;
  const before: Before = (a, b) => {
    compared += 1;
    return firstCome(a, b);
  };
  for (const fairness of ['strict', 'robin', 'tokens', 'turns']) {
    const bench = new FlowControlBench({
      defaultBand: makeBand({ before, fairness, maxRequests: 50_000 }),
    });
    const most = (step: (count: number) => void): number => {
      let highest = 0;
      for (let count = 0; count < 1000; count++) {
        const start = compared;
        step(count);
        highest = Math.max(highest, compared - start);
      }
      return highest;
    };
    const waiting: Waiting[] = [];
    for (let count = 0; count < 20_000; count++) {
      waiting.push(bench.wait({ fairnessId: `f${(count * 7) % 1000}` }));
    }
    expect(most((count) => bench.wait({ fairnessId: `f${count}` }))).toBeLessThan(60);
    expect(most((count) => bench.control.remove(waiting[count * 3] as Waiting))).toBeLessThan(150);
    expect(most(() => bench.place(NOW, 1).forEach((one) => bench.end(one)))).toBeLessThan(150);
  }
});
