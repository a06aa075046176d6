import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { headroomBed } from '../../../test/support/headroom-bed.ts';
import { planFrom } from '../../catalogue/plan.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import type { Headroom } from './headroom.ts';
import type { StageHeadroom } from './headroom-report.ts';

it('[O285] leaves endpoints that do not answer out of the capacity, but not out of the replicas', () => {
  const clock = new SimulatedClock();
  const { headroom, picker } = headroomBed(clock);
  const ids = ['a', 'b', 'c', 'd'].map((name) => name as EndpointId);
  const sample = (id: EndpointId): void => {
    const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
    picker.pool.observe(id, { ...idle, sampledAt: clock.now() });
  };
  for (const [at, id] of ids.entries()) {
    picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels: new Map() });
    sample(id);
  }
  picker.route(makeRequest()).done('completed');
  const capacity = (): number => headroom.report().stages[0]?.requestsPerSecond?.capacity ?? 0;
  const whole = capacity();
  expect(whole).toBeGreaterThan(0);

  clock.advanceTo(60_000);
  for (const id of ids.slice(0, 2)) sample(id);
  expect(capacity()).toBeLessThan(0.55 * whole);
  expect(headroom.report().stages[0]).toMatchObject({ endpoints: 4, replicas: 4 });

  // A pool whose metrics cannot be had at all is no pool without servers.
  clock.advanceTo(120_000);
  expect(capacity()).toBeCloseTo(whole, 6);
});

it('[Q319] an endpoint with eight engines has the capacity of eight endpoints, and an eighth of its load each', () => {
  const measured = (names: readonly string[], engines: number): StageHeadroom | undefined => {
    const { headroom, picker } = headroomBed(new SimulatedClock());
    for (const [at, name] of names.entries()) {
      const id = name as EndpointId;
      picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels: new Map() });
      picker.pool.set(id, ENGINE_COUNT, engines);
      picker.pool.set(id, CACHE_CONFIG, { blockTokens: 16, blocks: 10_000 });
    }
    for (let n = 0; n < 64; n++) picker.route(makeRequest({ promptTokens: 8000 }));
    return headroom.report().stages[0];
  };
  const apart = measured(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], 1);
  const together = measured(['a'], 8);
  const capacity = apart?.requestsPerSecond?.capacity ?? 0;
  expect(capacity).toBeGreaterThan(0);
  expect(together?.requestsPerSecond?.capacity).toBeCloseTo(capacity, 6);
  expect(together?.saturation).toBeCloseTo(apart?.saturation ?? 0, 6);
});

it('[O287] leaves ejected endpoints out of capacity and saturation, although their metrics are fresh', () => {
  const clock = new SimulatedClock();
  const { headroom, picker } = headroomBed(clock);
  const ids = ['a', 'b'].map((name) => name as EndpointId);
  for (const [at, id] of ids.entries()) {
    picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels: new Map() });
  }
  picker.route(makeRequest()).done('completed');
  const stage = (): StageHeadroom | undefined => headroom.report().stages[0];
  const whole = stage()?.requestsPerSecond?.capacity ?? 0;

  // The first endpoint fails all of its requests, and reports idle metrics; the other one works.
  const open: RoutedRequest[] = [];
  for (let request = 0; request < 200; request++) {
    clock.advanceTo(clock.now() + 20);
    const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
    for (const id of ids) picker.pool.observe(id, { ...idle, sampledAt: clock.now() });
    const routed = picker.route(makeRequest());
    if (routed.endpoint.id === ids[0]) routed.done('failed');
    else open.push(routed);
  }
  const [failing] = picker.pool.snapshot();
  expect(failing && picker.ejector.ejected(failing)).toBeDefined();
  expect(stage()).toMatchObject({ endpoints: 2, replicas: 2 });
  expect(stage()?.requestsPerSecond?.capacity).toBeCloseTo(whole / 2, 6);
  // One more request goes to the one that works, which has all that are open.
  const [idle = 0, loaded = 0] = ids.map((id) => headroom.report().endpoints.get(id));
  expect(loaded).toBeGreaterThan(2 * idle);
  expect(stage()?.saturation).toBe(loaded);
  for (const routed of open) routed.done('completed');
});

it('[Q291] says that a pool is saturated where it was for 15 seconds, and not for a moment', () => {
  const clock = new SimulatedClock();
  const { headroom, picker } = headroomBed(clock);
  const id = 'a' as EndpointId;
  picker.pool.upsert({ id, address: '10.0.0.1:8000', labels: new Map() });
  picker.pool.set(id, CACHE_CONFIG, { blockTokens: 16, blocks: 10_000 });
  picker.route(makeRequest()).done('completed');
  const watch = headroom.start();
  const after = (seconds: number, kvCacheUsage: number): StageHeadroom | undefined => {
    for (let second = 0; second < seconds; second++) {
      const sample = { waitingQueueSize: 0, runningRequests: 1, kvCacheUsage };
      picker.pool.observe(id, { ...sample, sampledAt: clock.now() });
      clock.advanceTo(clock.now() + 1000);
    }
    return headroom.report().stages[0];
  };
  after(20, 0);
  const moment = after(14, 1);
  expect(moment?.saturation).toBeGreaterThan(1);
  expect(moment?.secondsToSaturation).toBeUndefined();
  expect(after(1, 1)?.secondsToSaturation).toBe(0);
  expect(after(1, 0)?.secondsToSaturation).toBeUndefined();
  watch.stop();
});

/** A pool of so many endpoints, with requests a second that end as given. */
function failingBed(endpoints: number): {
  readonly stage: () => StageHeadroom | undefined;
  readonly pass: (seconds: number, perSecond: number, outcome: 'completed' | 'failed') => void;
} {
  const clock = new SimulatedClock();
  const { headroom, picker } = headroomBed(clock);
  headroom.start();
  const ids = Array.from({ length: endpoints }, (_, at) => `e${at}` as EndpointId);
  for (const [at, id] of ids.entries())
    picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels: new Map() });
  return {
    stage: () => headroom.report().stages[0],
    pass: (seconds, perSecond, outcome) => {
      const end = clock.now() + 1000 * seconds;
      while (clock.now() < end) {
        for (const id of ids) {
          const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
          picker.pool.observe(id, { ...idle, sampledAt: clock.now() });
        }
        if (perSecond > 0) picker.route(makeRequest()).done(outcome);
        clock.advanceTo(clock.now() + Math.min(1000, 1000 / perSecond));
      }
    },
  };
}

it('[O536] asks for as many replicas as there are while all requests fail, however many clients try again', () => {
  const { stage, pass } = failingBed(4);
  pass(130, 5, 'completed');
  const before = stage();
  expect(before?.neededReplicas).toBeGreaterThan(0);
  // The metrics of all are fresh meanwhile.
  pass(20, 500, 'failed');
  expect(stage()).toMatchObject({
    requestsPerSecond: undefined,
    desiredReplicas: 4,
    neededReplicas: before?.neededReplicas,
    limit: 'failing',
  });
  pass(1, 5, 'completed');
  expect(stage()?.requestsPerSecond).toBeDefined();
});

it('[O536] takes failures for those of all servers only where no answer comes, and for a minute', () => {
  const { stage, pass } = failingBed(4);
  pass(130, 5, 'completed');
  for (let second = 0; second < 20; second++) {
    pass(1, 20, 'failed');
    pass(1, 1, 'completed');
    expect(stage()?.limit).not.toBe('failing');
  }
  pass(4, 20, 'failed');
  expect(stage()?.limit).toBe('failing');
  pass(61, 0, 'failed');
  expect(stage()).toMatchObject({ desiredReplicas: 0, utilization: 0 });
});

it('[O537] takes a pool for saturated whose flow control lets nothing through for 15 seconds', () => {
  const clock = new SimulatedClock();
  let isHeldBack = false;
  const { headroom, picker } = headroomBed(clock, {
    waiting: () => 3,
    isHeldBack: () => isHeldBack,
  });
  const watch = headroom.start();
  picker.pool.upsert({ id: 'a' as EndpointId, address: '10.0.0.1:8000', labels: new Map() });
  const after = (seconds: number): StageHeadroom | undefined => {
    for (let second = 0; second < seconds; second++) {
      picker.route(makeRequest()).done('completed');
      clock.advanceTo(clock.now() + 1000);
    }
    return headroom.report().stages[0];
  };
  expect(after(30)?.utilization).toBeLessThan(0.5);
  isHeldBack = true;
  expect(after(14)?.utilization).toBeLessThan(0.5);
  expect(after(1)).toMatchObject({ utilization: 1, secondsToSaturation: 0, limit: 'flow-control' });
  isHeldBack = false;
  expect(after(1)?.utilization).toBeLessThan(0.5);
  watch.stop();
});

describe('the headroom of a pool that computes prompts apart', () => {
  const plan = planFrom('deploy/disaggregation.yaml');
  const server = (picker: EndpointPicker, name: string, role: string): void =>
    picker.pool.upsert({
      id: name as EndpointId,
      address: `${name}:8000`,
      labels: new Map([['llm-d.ai/role', role]]),
    });
  const wanted = (headroom: Headroom): Record<string, number> =>
    Object.fromEntries(
      headroom.report().stages.map(({ stage, desiredReplicas, neededReplicas }) => {
        if (neededReplicas !== undefined) expect(neededReplicas > 0).toBe(desiredReplicas > 0);
        return [stage, desiredReplicas];
      }),
    );

  it('[Q304] wants the first server of each stage for what waits, before any request was placed', () => {
    const clock = new SimulatedClock();
    let waiting = 0;
    const { headroom } = headroomBed(clock, { plan, waiting: () => waiting });
    expect(wanted(headroom)).toEqual({ prefill: 0, decode: 0, all: 0 });
    waiting = 3;
    expect(wanted(headroom)).toEqual({ prefill: 1, decode: 1, all: 1 });
  });

  it('[Q304] wants a first server that computes prompts where only others are left, with the same names as before', () => {
    const clock = new SimulatedClock();
    const { headroom, picker } = headroomBed(clock, { plan });
    server(picker, 'd', 'decode');
    picker.route(makeRequest()).done('completed');
    const watch = headroom.start();
    clock.advanceTo(2000);
    expect(wanted(headroom)).toEqual({ prefill: 1, decode: 1, all: 1 });
    server(picker, 'p', 'prefill');
    expect(Object.keys(wanted(headroom))).toEqual(['prefill', 'decode']);
    picker.pool.remove('p' as EndpointId);
    expect(Object.keys(wanted(headroom))).toEqual(['prefill', 'decode', 'all']);
    watch.stop();
  });

  it('[Q304] wants none that computes prompts where requests had no use for one', () => {
    const clock = new SimulatedClock();
    const { headroom, picker } = headroomBed(clock, { plan });
    server(picker, 'd', 'decode');
    server(picker, 'p', 'prefill');
    const watch = headroom.start();
    for (let request = 0; request < 200; request++) {
      // Short prompts are computed where they are answered.
      picker.route(makeRequest({ promptTokens: 1 })).done('completed');
      clock.advanceTo(clock.now() + 1000);
    }
    // Nothing is known of its capacity: it stays.
    expect(wanted(headroom)).toEqual({ prefill: 1, decode: 1 });
    picker.pool.remove('p' as EndpointId);
    expect(wanted(headroom)).toEqual({ prefill: 0, decode: 1, all: 1 });
    watch.stop();
  });
});

it('[Q304] wants the first server of a pool for what waits, before any request was placed', () => {
  const { headroom } = headroomBed(new SimulatedClock(), { waiting: () => 1 });
  expect(headroom.report().stages).toMatchObject([
    { stage: 'all', desiredReplicas: 1, neededReplicas: 1 },
  ]);
});
