import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  makeContext,
  makeEndpoint,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
} from '../../../test/makers.ts';
import { assignmentKey } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { CycleKey } from '../../framework/scheduling.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { assignmentFilter } from '../filters/assignment.ts';
import { apportion } from './apportion.ts';
import {
  type AssignmentConfig,
  AssignmentInformer,
  assignmentInformer,
} from './assignment-informer.ts';

const CLASSES = [{ name: 'short', maxPromptTokens: 1000 }, { name: 'long' }];

function setUp(parameters: object, endpoints: readonly Endpoint[]) {
  const clock = new SimulatedClock();
  const config = assignmentInformer.config.parse({ classes: CLASSES, ...parameters });
  const informer = new AssignmentInformer(config as AssignmentConfig, {
    name: 'assignment-informer',
    pool: { snapshot: () => endpoints, observe: () => undefined, set: () => undefined },
    runtime: { ...makeRuntime(), clock },
  });
  for (const _endpoint of endpoints) informer.onEndpointAdded();
  const [first] = endpoints as readonly [Endpoint];
  return {
    informer,
    /**
     * So many requests of a class, within the interval, and then the division is looked at again.
     */
    send: (promptTokens: number, requests: number) => {
      const routed = makeRouted(first, {
        request: makeRequest({ promptTokens }),
        at: clock.now(),
      });
      for (let count = 0; count < requests; count++) informer.onRouted(routed);
    },
    /**
     * Until the division is looked at again, with a request whose own work comes too late for that.
     */
    wait: () => {
      clock.setTimer((config as AssignmentConfig).reassignInterval, () => undefined);
      clock.step();
      const request = makeRequest({ promptTokens: 1 });
      informer.onRouted(makeRouted(first, { request, at: clock.now() }));
    },
    division: () => endpoints.map((endpoint) => informer.assigned(endpoint)).join(' '),
  };
}

const four = makePool([{}, {}, {}, {}]);

describe('the assignment informer', () => {
  it('divides evenly until work has come, then by that work', () => {
    const { send, wait, division } = setUp({}, four);
    expect(division()).toBe('short short long long');
    send(5000, 30);
    send(500, 30);
    wait();
    expect(division()).toBe('short long long long');
  });

  it('does not move an endpoint for a share that is nearly right', () => {
    const { send, wait, division } = setUp({}, four);
    send(1500, 40);
    send(750, 60);
    wait();
    expect(division()).toBe('short short long long');
  });

  it('moves as few as it can', () => {
    const { informer, send, wait, division } = setUp(
      {},
      makePool(Array.from({ length: 8 }, () => ({}))),
    );
    send(5000, 15);
    send(500, 90);
    wait();
    const [before, changed] = [division(), 0];
    send(5000, 40);
    wait();
    const after = division();
    const moved = before.split(' ').filter((name, at) => name !== after.split(' ')[at]).length;
    expect(moved).toBeGreaterThan(changed);
    expect(moved).toBeLessThanOrEqual(3);
    informer.stop();
  });

  it('divides what is left anew when an endpoint goes', () => {
    const endpoints = [...four];
    const { informer, division } = setUp({}, endpoints);
    for (const gone of endpoints.splice(2)) informer.onEndpointRemoved(gone);
    expect(division()).toBe('short long');
    // One that comes back is divided anew, too.
    endpoints.push(four[2] as Endpoint);
    informer.onEndpointAdded();
    expect(division().split(' ')).toHaveLength(3);
    expect(informer.assigned(four[3] as Endpoint)).toBeUndefined();
  });

  it('divides by shares, or by labels, where configured to', () => {
    const shares = [
      { ...CLASSES[0], share: 3 },
      { ...CLASSES[1], share: 1 },
    ];
    expect(setUp({ mode: 'shares', classes: shares }, four).division()).toBe(
      'short short short long',
    );
    const labelled = makePool([{ labels: { gpu: 'h100' } }, { labels: { gpu: 'l40s' } }, {}]);
    const classes = [
      { ...CLASSES[0], endpointLabels: { gpu: 'l40s' } },
      { ...CLASSES[1], endpointLabels: { gpu: 'h100' } },
    ];
    expect(setUp({ mode: 'labels', classes }, labelled).division()).toBe('long short ');
  });

  it('assigns an endpoint anew when its labels change, only where it divides by labels', () => {
    const byLabel = [
      { ...CLASSES[0], endpointLabels: { gpu: 'l40s' } },
      { ...CLASSES[1], endpointLabels: { gpu: 'h100' } },
    ];
    const relabel = (parameters: object) => {
      const endpoints = [...makePool([{ labels: { gpu: 'l40s' } }, { labels: { gpu: 'h100' } }])];
      const { informer, division } = setUp(parameters, endpoints);
      const [, previous] = endpoints as [Endpoint, Endpoint];
      const endpoint = makeEndpoint('pod-1', { slot: 1, labels: { gpu: 'l40s' } });
      endpoints[1] = endpoint;
      informer.onEndpointChanged(endpoint, previous);
      return division();
    };
    expect(relabel({ mode: 'labels', classes: byLabel })).toBe('short short');
    expect(relabel({ classes: byLabel })).toBe('short long');
  });

  it.each([
    [{ classes: [{ name: 'a' }] }],
    [{ classes: [{ name: 'a' }, { name: 'a' }] }],
    [{ mode: 'labels' }],
    [{ reassignInterval: 'soon' }],
  ])('refuses %j', (parameters) => {
    expect(() => assignmentInformer.config.parse({ classes: CLASSES, ...parameters })).toThrow();
  });
});

describe('apportion', () => {
  it('gives whole numbers that add up, each at least the least where that can be', () => {
    const weights = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(weights, fc.nat(50), fc.nat(3), (values, total, least) => {
        const counts = apportion(new Map(values.map((value, at) => [String(at), value])), {
          total,
          least,
        });
        const all = [...counts.values()];
        expect(all.reduce((a, b) => a + b, 0)).toBe(total);
        const floor = Math.min(least, Math.floor(total / values.length));
        expect(all.every((count) => Number.isInteger(count) && count >= floor)).toBe(true);
      }),
      { seed: 858 },
    );
  });
});

describe('assignment-filter', () => {
  const filter = (parameters: object) =>
    assignmentFilter.create(assignmentFilter.config.parse(parameters), makeRuntime());
  const pool = makePool([{ labels: { class: 'm' } }, { labels: { class: 'other' } }, {}]);

  it('keeps the request’s class, and endpoints without one', () => {
    expect(
      filter({})
        .filter(pool, makeContext())
        .map(({ id }) => id),
    ).toEqual(['pod-0', 'pod-2']);
  });

  it('keeps all where the class has no endpoint, or is full', () => {
    const lone = pool.slice(1, 2);
    expect(filter({}).filter(lone, makeContext())).toEqual(lone);
    const load = [{ requests: 9 }, {}, { requests: 9 }];
    expect(filter({ spillRequests: 8 }).filter(pool, makeContext({ load }))).toHaveLength(3);
    expect(filter({ spillRequests: 9 }).filter(pool, makeContext({ load }))).toHaveLength(2);
  });

  it('asks for the division that is configured', () => {
    const asked: string[] = [];
    const base = makeContext();
    const context = {
      ...base,
      get: <T>(key: CycleKey<T>): T => {
        asked.push(key.name);
        return base.get(key);
      },
    };
    filter({ assignmentProducerName: 'by-tier' }).filter(pool, context);
    expect(asked).toContain(assignmentKey('by-tier').name);
  });
});
