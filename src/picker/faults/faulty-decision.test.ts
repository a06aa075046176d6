import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import {
  allInFlight,
  type FaultyPlugins,
  faultyPicker,
  profileOf,
  TEST_FACT,
} from '../../../test/support/plugins/faulty-plugins.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { PluginFault } from '../../framework/error.ts';
import { RoutingError } from '../../framework/error.ts';
import type { ProfileHandler, SchedulingProfile } from '../../framework/scheduling.ts';
import { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import { explain } from '../../journal/explain/explanation.ts';
import { explanationText } from '../../journal/explain/explanation-text.ts';
import { findDecision } from '../../journal/explain/find-decision.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';

const boom = (): never => {
  throw new Error('broken on purpose');
};
const scoresOf = (give: (endpoint: Endpoint) => unknown): FaultyPlugins['scorer'] => ({
  score: (endpoints) => endpoints.map((endpoint) => give(endpoint) as number),
});
/** Prefers `e2`. */
const QUEUES = profileOf('test-scorer', 'queue-scorer', 'max-score-picker');

function preferringE2(plugins: FaultyPlugins, body = QUEUES) {
  const faults: PluginFault[] = [];
  const picker = faultyPicker(body, plugins, { onFault: (fault) => faults.push(fault) });
  for (const { id } of picker.pool.snapshot()) {
    const waitingQueueSize = id === 'e2' ? 0 : 9;
    const sample = { waitingQueueSize, runningRequests: 0, kvCacheUsage: 0, sampledAt: 0 };
    picker.pool.observe(id, sample);
  }
  return { picker, faults };
}

const BAD_SCORES: readonly (readonly [string, FaultyPlugins['scorer']])[] = [
  ['throws', { score: boom }],
  ['gives NaN for one endpoint', scoresOf(({ slot }) => (slot === 3 ? Number.NaN : 0))],
  ['gives an infinite score', scoresOf(({ slot }) => (slot === 3 ? Infinity : 0))],
  ['gives −Infinity', scoresOf(({ slot }) => (slot === 3 ? -Infinity : 0))],
  ['gives a text', scoresOf(() => '1')],
  ['gives a big integer', scoresOf(() => 1n)],
  ['gives nothing', { score: () => undefined as never }],
  ['gives too few scores', { score: (endpoints) => endpoints.slice(1).map(() => 1) }],
  ['gives too many scores', { score: (endpoints) => [...endpoints.map(() => 1), 1] }],
];

describe('a scorer or filter that fails', () => {
  it.each(BAD_SCORES)('[V31] costs no request: a scorer that %s is left out', (_what, scorer) => {
    const { picker, faults } = preferringE2(scorer === undefined ? {} : { scorer });
    for (let n = 0; n < 3; n++) {
      expect(picker.route(makeRequest({ id: `r${n}` })).endpoint.id).toBe('e2');
    }
    expect(faults.map(({ kind, name, call }) => [kind, name, call])).toEqual([
      ['scorer', 'test-scorer', 'score'],
    ]);
    expect(picker.faults.counts()).toMatchObject([{ name: 'test-scorer', count: 3 }]);
  });

  it('[V31] decides as if the scorer that failed were not there, to the last bit', () => {
    const odd =
      'plugins: [{ type: test-scorer }, { type: queue-scorer }, { type: kv-cache-utilization-scorer }]';
    const profile = (refs: string): string =>
      `${odd}\nschedulingProfiles: [{ name: default, plugins: [{ pluginRef: queue-scorer, weight: 0.1 }, ${refs} { pluginRef: kv-cache-utilization-scorer, weight: 0.7 }] }]\n`;
    const scores = (body: string): readonly (number | undefined)[] => {
      const { picker } = preferringE2(
        { scorer: scoresOf(({ slot }) => (slot === 3 ? Number.NaN : slot / 3)) ?? { score: boom } },
        body,
      );
      const cycle = picker.decideOnly(makeRequest());
      const { primary } = cycle.decision;
      return primary.run?.totals ?? [];
    };
    expect(scores(profile('{ pluginRef: test-scorer, weight: 0.3 },'))).toEqual(
      scores(profile('')),
    );
  });

  it('[V31] leaves the pick to the load in flight where no scorer is left', () => {
    const body = profileOf('test-scorer', 'max-score-picker');
    const { picker } = preferringE2({ scorer: { score: boom } }, body);
    const sent = Array.from({ length: 8 }, (_, n) => picker.route(makeRequest({ id: `r${n}` })));
    const counts = picker.pool.snapshot().map((endpoint) => picker.ledger.load(endpoint).requests);
    expect([sent.length, counts]).toEqual([8, [2, 2, 2, 2]]);
  });

  it.each<readonly [string, FaultyPlugins['filter']]>([
    ['throws', { filter: boom }],
    ['returns nothing', { filter: () => undefined as never }],
    ['returns an endpoint twice', { filter: ([first]) => [first, first] as Endpoint[] }],
    ['returns holes', { filter: () => [undefined] as never }],
    ['returns an endpoint of its own', { filter: ([first]) => [{ ...first }] as Endpoint[] }],
  ])('[V31] costs no request: a filter that %s removes none', (_what, filter) => {
    const body = profileOf('test-filter', 'queue-scorer', 'max-score-picker');
    const { picker, faults } = preferringE2(filter === undefined ? {} : { filter }, body);
    expect(picker.route(makeRequest()).endpoint.id).toBe('e2');
    expect(faults).toMatchObject([{ kind: 'filter', name: 'test-filter', call: 'filter' }]);
  });

  it('[V31] still refuses where a filter that works keeps no endpoint', () => {
    const body = profileOf('test-filter', 'queue-scorer', 'max-score-picker');
    const { picker, faults } = preferringE2({ filter: { filter: () => [] } }, body);
    expect(() => picker.route(makeRequest())).toThrow('[saturated]');
    expect(faults).toEqual([]);
  });

  it('[V31] is logged once, and again only after a minute', () => {
    const clock = new SimulatedClock();
    const faults: PluginFault[] = [];
    const runtime = { ...faultyRuntime(clock) };
    const picker = faultyPicker(
      QUEUES,
      { scorer: { score: boom } },
      {
        runtime,
        onFault: (fault) => faults.push(fault),
      },
    );
    for (let second = 0; second <= 60; second++) {
      clock.advanceTo(second * 1000);
      picker.route(makeRequest({ id: `r${second}` })).done('completed');
    }
    expect(faults.map(({ count }) => count)).toEqual([1, 61]);
  });

  it('[V31] is shown by explain, with the other scores', () => {
    const clock = new SimulatedClock();
    const recorder = new DecisionRecorder({ clock });
    const picker = faultyPicker(
      QUEUES,
      { scorer: { score: boom } },
      {
        runtime: faultyRuntime(clock),
        subscribers: [recorder],
      },
    );
    picker.route(makeRequest({ id: 'a' }));
    const found = findDecision(recorder.ring.segments(), 'a');
    const explanation = found && explain(found);
    expect(explanation?.faults).toBe('scorer test-scorer failed in score: broken on purpose');
    expect(explanation?.profiles[0]?.endpoints[0]).toMatchObject({ total: 1, scores: [NaN, 1] });
    const text = explanation && explanationText(explanation, { all: false, time: 'now' });
    expect(text).toContain('without    scorer test-scorer failed in score: broken on purpose');
  });
});

function faultyRuntime(clock: SimulatedClock) {
  const network = { get: () => Promise.reject(new Error('no network')) };
  const random = { next: () => 0.5, fork: () => random };
  return { clock, random, network };
}

describe('another plugin that fails', () => {
  it.each<readonly [string, FaultyPlugins['picker']]>([
    ['throws', { pick: boom }],
    ['picks nothing', { pick: () => [] }],
    ['returns nothing', { pick: () => undefined as never }],
    ['picks a stranger', { pick: () => [{ endpoint: {} as Endpoint, score: 1 }] }],
  ])('[V32] costs no request: for a picker that %s the highest score decides', (_what, picker) => {
    const body = profileOf('queue-scorer', 'test-picker');
    const { picker: core, faults } = preferringE2(picker === undefined ? {} : { picker }, body);
    expect(core.route(makeRequest()).endpoint.id).toBe('e2');
    expect(faults).toMatchObject([{ kind: 'picker', name: 'test-picker', call: 'pick' }]);
  });

  const handled = `plugins: [{ type: queue-scorer }, { type: test-handler }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: queue-scorer }] }]
`;

  type MakeHandler = (profiles: readonly SchedulingProfile[]) => ProfileHandler;

  it.each<readonly [string, MakeHandler, RegExp]>([
    ['throws at once', () => ({ next: boom, conclude: boom }), /^e/],
    ['never ends', ([profile]) => ({ next: () => profile, conclude: boom }), /^e2$/],
    [
      'throws in the end',
      ([profile]) => ({ next: ({ length }) => (length ? undefined : profile), conclude: boom }),
      /^e2$/,
    ],
    ['concludes nothing', () => ({ next: () => undefined, conclude: () => ({}) as never }), /^e/],
  ])('[V32] costs no request: a profile handler that %s', (_what, make, expected) => {
    const handler: FaultyPlugins['handler'] = (profiles) => make([...profiles.values()]);
    const { picker, faults } = preferringE2({ handler }, handled);
    expect(picker.route(makeRequest()).endpoint.id).toMatch(expected);
    expect(faults).toMatchObject([{ kind: 'handler', name: 'test-handler' }]);
  });

  it('[V32] costs no request: without a decider that works, no stage is separate', () => {
    const body = `plugins: [{ type: queue-scorer }, { type: test-decider }, { type: disagg-profile-handler, parameters: { deciders: { prefill: test-decider } } }]
schedulingProfiles:
  - { name: prefill, plugins: [{ pluginRef: queue-scorer }] }
  - { name: decode, plugins: [{ pluginRef: queue-scorer }] }
`;
    const { picker, faults } = preferringE2({ decider: { separates: boom } }, body);
    const routed = picker.route(makeRequest());
    expect([routed.endpoint.id, [...routed.headers]]).toEqual(['e2', []]);
    expect(faults).toMatchObject([{ kind: 'decider', name: 'test-decider', call: 'separates' }]);
  });

  it('[V32] costs no request: a fact that cannot be computed leaves out those that need it', () => {
    const body = `plugins: [{ type: test-source }, { type: test-scorer }, { type: queue-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: test-scorer }, { pluginRef: queue-scorer }] }]
`;
    const source = () => ({ facts: [{ key: TEST_FACT, compute: boom }], stop: () => undefined });
    const scorer = {
      score: (endpoints: readonly Endpoint[], context: { get(key: typeof TEST_FACT): number }) =>
        endpoints.map(() => context.get(TEST_FACT)),
    };
    const { picker, faults } = preferringE2({ source, scorer: scorer as never }, body);
    expect(picker.route(makeRequest()).endpoint.id).toBe('e2');
    expect(faults.map(({ kind, call }) => [kind, call])).toEqual([
      ['source', 'fact test-fact'],
      ['scorer', 'score'],
    ]);
  });

  it.each<readonly [string, unknown]>([
    ['throws', boom],
    ['returns nothing', () => undefined],
    ['returns a decision without headers', () => ({ primary: { kind: 'picked', targets: [] } })],
  ])('[V32] costs no request: the profiles decide for a scheduler that %s', (_what, schedule) => {
    const body = `${profileOf('queue-scorer')}scheduler: { type: test-scheduler }\n`;
    const { picker } = preferringE2({ scheduler: { schedule } as never }, body);
    expect(picker.route(makeRequest()).endpoint.id).toBe('e2');
  });

  it('[G208] says of a scheduler that refuses a request that it was the scheduler, not a filter', () => {
    const body = `${profileOf('queue-scorer')}scheduler: { type: test-scheduler }\n`;
    const primary = { kind: 'exhausted', profile: 'mine', candidates: 2 } as const;
    const refusal = { primary, profiles: [primary], headers: new Map() };
    const { picker } = preferringE2({ scheduler: { schedule: () => refusal } }, body);
    expect(() => picker.route(makeRequest())).toThrow(
      '[saturated] the scheduler refused this request',
    );
  });

  it.each<readonly [string, string, FaultyPlugins]>([
    ['scorer', 'test-scorer', { scorer: { score: refuse } }],
    ['filter', 'test-filter', { filter: { filter: refuse } }],
    ['picker', 'test-picker', { picker: { pick: refuse } }],
  ])('[V33] refuses the request where a %s throws a RoutingError', (_kind, type, plugins) => {
    const types = type === 'test-picker' ? [type] : [type, 'max-score-picker'];
    const { picker, faults } = preferringE2(plugins, profileOf('queue-scorer', ...types));
    expect(() => picker.route(makeRequest())).toThrow('[saturated] not today');
    expect([faults, allInFlight(picker).requests]).toEqual([[], 0]);
  });
});

function refuse(): never {
  throw new RoutingError('saturated', 'not today');
}
