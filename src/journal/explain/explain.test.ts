import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../config/defaults.ts';
import { loadConfig } from '../../config/load.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../../framework/keys.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { Decision } from '../../framework/scheduling.ts';
import { chainBlockIds } from '../../openai/prompts/chain-block-ids.ts';
import { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { JournalSubscriber } from '../../picker/events/journal.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { type DecisionList, decisionDocuments } from '../../serve/admin/decision-documents.ts';
import { DecisionRecorder } from './decision-recorder.ts';
import { type Explanation, explain } from './explanation.ts';
import { explanationText } from './explanation-text.ts';
import { findDecision } from './find-decision.ts';

const WITH_FILTERS = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: by-label-selector
  name: zone-a
  parameters: {matchLabels: {zone: a}}
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
- type: predicted-cost-scorer
- type: max-score-picker
  parameters: {maxNumOfEndpoints: 3}
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: zone-a}
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 0.5}
  - {pluginRef: predicted-cost-scorer, weight: 3}
  - {pluginRef: prefix-cache-scorer, weight: 1}
  - {pluginRef: max-score-picker}
`;

interface Seen {
  readonly id: string;
  readonly endpoint: string;
  readonly score: number;
  /** As the picker was given them. */
  readonly candidates: ReadonlyMap<string, number>;
  readonly targets: readonly string[];
}

/** A picker whose decisions are recorded, and seen from outside as well. */
function setUp(
  config: string,
  limits: { decisionsMax?: number; bytesMax?: number; endpointsMax?: number } = {},
) {
  const clock = new SimulatedClock();
  const recorder = new DecisionRecorder({ clock, ...limits });
  const planOf = (each: string): PickerPlan =>
    loadConfig({
      text: NAMED_CONFIGS.get(each) ?? each,
      source: 'test',
      catalogue: EMBEDDED_CATALOGUE,
    });
  let result: Decision | undefined;
  const network = { get: () => Promise.reject(new Error('no network')) };
  const observer: JournalSubscriber = {
    onDecision: ({ decision }) => {
      result = decision;
    },
  };
  const decisions = { change: (decision: Decision): Decision => decision };
  const changed: JournalSubscriber = {
    onDecision: (event) =>
      recorder.onDecision({
        ...event,
        decision: event.decision && decisions.change(event.decision),
      }),
    onRouted: (routed) => recorder.onRouted(routed),
    onFirstToken: (routed, at) => recorder.onFirstToken(routed, at),
  };
  const picker = new EndpointPicker({
    plan: planOf(config),
    runtime: { clock, random: seededRandom(1), network },
    subscribers: [changed, observer],
  });
  const add = (name: string, zone = 'a'): void =>
    picker.pool.upsert({
      id: name as EndpointId,
      address: `${name}:8000`,
      labels: new Map([['zone', zone]]),
    });
  const seen = (id: string): Seen => {
    const target = result?.primary.kind === 'picked' ? result.primary.targets : [];
    const candidates = result?.profiles.at(-1)?.run?.scored ?? [];
    return {
      id,
      endpoint: target[0]?.endpoint.id ?? '',
      score: target[0]?.score ?? Number.NaN,
      candidates: new Map(candidates.map(({ endpoint, score }) => [endpoint.id, score])),
      targets: target.map(({ endpoint }) => endpoint.id),
    };
  };
  const explained = (id: string): Explanation | undefined => {
    const found = findDecision(recorder.ring.segments(), id);
    return found && explain(found);
  };
  const adopt = (each: string): void => picker.adopt(planOf(each));
  return { clock, recorder, picker, add, seen, explained, adopt, decisions };
}

/** Traffic with all that changes: samples, tokens, ends, failures, adapters, endpoints that come and go, subsets. */
function drive(
  test: ReturnType<typeof setUp>,
  seed: number,
  requests: number,
  before: (n: number) => void = () => undefined,
): readonly Seen[] {
  const { clock, picker, add, seen } = test;
  const random = seededRandom(seed);
  const below = (n: number): number => Math.floor(random.next() * n);
  const names = Array.from({ length: 12 }, (_, at) => `pod-${at}`);
  for (const name of names.slice(0, 9)) add(name, random.next() < 0.7 ? 'a' : 'b');
  add('pod-0', 'a');
  const open: RoutedRequest[] = [];
  return Array.from({ length: requests }, (_, n) => {
    before(n);
    const until = clock.now() + below(40);
    clock.setTimer(until - clock.now(), () => undefined);
    while (clock.step(until));
    const name = names[below(names.length)] as EndpointId;
    picker.pool.observe(name, {
      waitingQueueSize: below(6),
      runningRequests: below(30),
      kvCacheUsage: random.next(),
      sampledAt: clock.now(),
    });
    if (n % 50 === 20)
      picker.pool.set(name, CACHE_CONFIG, { blockTokens: 16, blocks: 500 * below(9) + 500 });
    if (n % 50 === 30) {
      picker.pool.set(name, LORA, { running: new Set(['m1']), waiting: new Set<string>(), max: 1 });
    }
    if (n % 97 === 96 && name !== 'pod-0') picker.pool.remove(name);
    if (n % 83 === 82) add(name, random.next() < 0.7 ? 'a' : 'b');
    const blocks = below(40);
    const family = below(5);
    const id = `own-${n}`;
    const request = makeRequest({
      id,
      model: `m${below(2)}`,
      promptTokens: 64 * blocks + below(64),
      prompt: chainBlockIds(
        Array.from({ length: blocks }, (_unused, at) => (at < 20 ? family : 100 + n) * 1000 + at),
        { seedText: 'm', blockTokens: 64 },
      ),
      headers: new Map([['x-request-id', `theirs-${n}`]]),
    });
    const subset = n % 31 === 30 ? { subset: ['pod-0:8000', 'pod-3:8000', 'pod-5:8000'] } : {};
    open.push(picker.route(request, { firstTokenSeen: true, ...subset }));
    const now = seen(id);
    if (open.length > 8) open[below(8)]?.firstToken();
    if (open.length > 16) open.shift()?.done(random.next() < 0.05 ? 'failed' : 'completed');
    return now;
  });
}

describe('a recorded decision', () => {
  it.each([
    ['default', 1],
    ['reference-default', 2],
    [WITH_FILTERS, 3],
    ['random', 4],
    ['sticky', 5],
  ])('is explained with the scores it had, to the last bit', (config, seed) => {
    const test = setUp(config);
    for (const { id, endpoint, score, candidates, targets } of drive(test, seed, 1500)) {
      const explanation = test.explained(id);
      const profile = explanation?.profiles.at(-1);
      expect(explanation?.outcome).toMatchObject({ kind: 'picked', endpoint, score });
      expect(profile?.picked).toEqual(targets);
      const totals = profile?.endpoints.map((each) => [each.endpoint, each.total] as const);
      expect(new Map(totals)).toEqual(candidates);
    }
  });

  it.each([
    ['default', 1],
    [WITH_FILTERS, 3],
    ['random', 4],
  ])(
    'of a large pool keeps the scores of the best endpoints and of the targets',
    (config, seed) => {
      const test = setUp(config, { endpointsMax: 3 });
      let left = 0;
      for (const { id, endpoint, score, candidates, targets } of drive(test, seed, 1500)) {
        const explanation = test.explained(id);
        const profile = explanation?.profiles.at(-1);
        expect(explanation?.outcome).toMatchObject({ kind: 'picked', endpoint, score });
        const kept = profile?.endpoints ?? [];
        for (const each of kept) expect(candidates.get(each.endpoint)).toBe(each.total);
        const names = kept.map((each) => each.endpoint);
        expect(names).toEqual(expect.arrayContaining([...targets]));
        const others = [...candidates].filter(([name]) => !names.includes(name));
        expect(profile?.notKept).toBe(others.length);
        // As many as wanted are at least as good as any that is left out.
        const third = kept[2]?.total ?? Number.NEGATIVE_INFINITY;
        for (const [, total] of others) expect(total).toBeLessThanOrEqual(third);
        left += others.length;
      }
      expect(left).toBeGreaterThan(1500);
    },
  );

  it('is explained by the plan that made it, whatever plans came after', () => {
    const plans = ['reference-default', WITH_FILTERS, 'sticky', 'default'];
    const test = setUp('default');
    const seen = drive(test, 8, 1500, (n) => {
      // Often enough that a plan's numbers would run over, were they to go on from those before it.
      if (n % 7 === 6) test.adopt(plans[((n - 6) / 7) % plans.length] ?? '');
    });
    for (const { id, endpoint, score, candidates } of seen) {
      const explanation = test.explained(id);
      expect(explanation?.outcome).toMatchObject({ kind: 'picked', endpoint, score });
      const totals = explanation?.profiles.at(-1)?.endpoints.map((e) => [e.endpoint, e.total]);
      expect(totals).toHaveLength(candidates.size);
      for (const [name, total] of totals ?? []) expect(candidates.get(String(name))).toBe(total);
    }
  });

  it('is found by our id and by that of the client, the latest of equals', () => {
    const test = setUp('default');
    test.add('a');
    const headers = new Map([['x-request-id', 'twice']]);
    for (const id of ['one', 'two', 'three']) {
      test.picker.route(makeRequest({ id, ...(id !== 'three' && { headers }) }));
    }
    expect(test.explained('one')?.number).toBe(0);
    expect(test.explained('twice')?.id).toBe('two');
    expect(test.explained('nobody')).toBeUndefined();
    expect(test.explained('')).toBeUndefined();
  });

  it.each([
    '8f0c6b1e-9d0f-4f0c-8d33-5b1d2c0e4a77',
    '8F0C6B1E-9D0F-4F0C-8D33-5B1D2C0E4A77',
    '8f0c6b1:-9d0f-4f0c-8d33-5b1d2c0e4a77',
    '8f0c6b1e-9d0f4-f0c-8d33-5b1d2c0e4a77',
    '8f0c6b1e-9d0f-4f0c-8d33-5b1d2c0e4a-7',
    'ünïcödé – 1',
    'x'.repeat(300),
  ])('is found by an id of any form: %s', (id) => {
    const test = setUp('default');
    test.add('a');
    test.picker.route(makeRequest({ id: 'ours', headers: new Map([['x-request-id', id]]) }));
    test.picker.route(makeRequest({ id: 'ours-2' }));
    expect(test.explained(id)).toMatchObject({ id: 'ours', number: 0 });
    const kept = id.replace('–', '?').slice(0, 160);
    expect(test.explained(id)?.requestId).toBe(kept);
    expect(test.explained('ours-2')?.number).toBe(1);
  });
});

describe('the ring', () => {
  it('tells of any of the last decisions, and of none long before them', () => {
    const test = setUp('default', { decisionsMax: 1000 });
    const seen = drive(test, 6, 3000);
    expect(seen.slice(-1000).filter(({ id }) => test.explained(id) === undefined)).toEqual([]);
    expect(seen.slice(0, 1500).filter(({ id }) => test.explained(id) !== undefined)).toEqual([]);
  });

  it('keeps fewer where they would take too much memory', () => {
    const test = setUp('default', { bytesMax: 100_000 });
    drive(test, 7, 3000);
    const { decisions, bytes } = test.recorder.ring.stats();
    expect(decisions).toBeLessThan(3000);
    // One segment more is being written.
    expect(bytes).toBeLessThan(200_000);
  });

  it('takes no more for a slot that many endpoints have had, and never mixes them up', () => {
    const test = setUp('default');
    for (let turn = 0; turn < 200; turn++) {
      test.add(`pod-${turn}`);
      test.picker.route(makeRequest({ id: `r${turn}` })).done('completed');
      test.picker.pool.remove(`pod-${turn}` as EndpointId);
    }
    const outcomes = Array.from({ length: 200 }, (_, turn) => test.explained(`r${turn}`)?.outcome);
    expect(outcomes).toEqual(
      Array.from({ length: 200 }, (_, turn) =>
        expect.objectContaining({ kind: 'picked', endpoint: `pod-${turn}` }),
      ),
    );
  });
});

describe('an explanation', () => {
  it('[V78] says in place of which scheduler the profiles decided, and why', () => {
    const test = setUp('default');
    test.add('a');
    const insteadOf = { scheduler: 'unix:/run/mine.sock', reason: 'deadline' };
    test.decisions.change = (decision) => ({ ...decision, insteadOf });
    test.picker.route(makeRequest({ id: 'late' }));
    test.decisions.change = (decision) => decision;
    test.picker.route(makeRequest({ id: 'in time' }));
    const late = test.explained('late');
    expect(late).toMatchObject({ insteadOf: 'unix:/run/mine.sock: deadline' });
    expect(late && explanationText(late, { all: false, time: '' })).toContain(
      '\nby         the profiles, in place of unix:/run/mine.sock: deadline\n',
    );
    expect(test.explained('in time')).not.toHaveProperty('insteadOf');
  });

  it('[Q82] says how long a request has waited, for which endpoint, and what that has of its prompt', () => {
    const test = setUp('default');
    test.add('pod-a');
    test.add('pod-b');
    const waited = { waitedMs: 1234.5, endpoint: 'pod-b' as EndpointId, cachedTokens: 30_000 };
    test.picker.route(makeRequest({ id: 'late' }), { waited });
    test.picker.route(makeRequest({ id: 'at once' }));
    const late = test.explained('late');
    expect(late).toMatchObject({ waited });
    expect(late && explanationText(late, { all: false, time: '' })).toContain(
      '\nwaited     1,235 ms for pod-b, which has 30,000 of its tokens\n',
    );
    expect(test.explained('at once')).not.toHaveProperty('waited');
    const gone = { ...waited, endpoint: undefined };
    test.picker.route(makeRequest({ id: 'unknown' }), { waited: gone });
    expect(test.explained('unknown')?.waited).toEqual({ waitedMs: 1234.5, cachedTokens: 30_000 });
  });

  it('names what filters dropped, also where they left none', () => {
    const test = setUp(WITH_FILTERS);
    test.add('a1', 'a');
    test.add('b1', 'b');
    test.picker.route(makeRequest({ id: 'good' }));
    expect(test.explained('good')?.profiles[0]?.filters).toEqual([
      { filter: 'zone-a', dropped: ['b1'] },
    ]);
    test.picker.pool.remove('a1' as EndpointId);
    expect(() => test.picker.route(makeRequest({ id: 'bad' }))).toThrow('left none');
    const bad = test.explained('bad');
    expect(bad?.outcome).toEqual({ kind: 'exhausted', profile: 'default' });
    expect(bad?.profiles[0]?.filters).toEqual([{ filter: 'zone-a', dropped: ['b1'] }]);
  });

  it('has terms that add up to the cost, and what the runner-up would have cost', () => {
    const test = setUp('default');
    drive(test, 8, 600);
    const explanation = test.explained('own-599');
    const profile = explanation?.profiles[0];
    const names = profile?.scorers[0]?.terms ?? [];
    const added = names.filter((name) => name.endsWith('Ms') && name !== 'costMs');
    const of = (terms: readonly number[], name: string): number => terms[names.indexOf(name)] ?? 0;
    const rows = profile?.endpoints.map(({ terms: [terms = []] }) => terms) ?? [];
    for (const terms of rows) {
      const sum = added.reduce((total, name) => total + of(terms, name), 0);
      expect(sum).toBeCloseTo(of(terms, 'costMs'), 6);
    }
    const [first = [], second = []] = rows;
    const [cost] = profile?.runnerUp?.costs ?? [];
    expect(profile?.runnerUp?.endpoint).toBe(profile?.endpoints[1]?.endpoint);
    expect(cost?.more).toBe(of(second, 'costMs') - of(first, 'costMs'));
  });

  it('[O173] says of equal endpoints that they are equal', () => {
    const test = setUp('default');
    for (const name of ['one', 'other']) test.add(name);
    test.picker.route(makeRequest({ id: 'tied' }));
    const explanation = test.explained('tied') as Explanation;
    const text = explanationText(explanation, { all: false, time: '1970-01-01T00:00:00.000Z' });
    expect(text).toMatch(
      /the runner-up \w+ would have cost [\d.]+ ms \(costMs\), as much as the pick/,
    );
    expect(text).toMatch(/the runner-up \w+ has the same score/);
  });

  it('is a table that a person can read', () => {
    const test = setUp('default');
    for (const name of ['near', 'far']) {
      test.add(name);
      test.picker.pool.observe(name as EndpointId, {
        waitingQueueSize: 0,
        runningRequests: 0,
        kvCacheUsage: 0,
        sampledAt: 0,
      });
    }
    const prompt = chainBlockIds([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], {
      seedText: 'm',
      blockTokens: 64,
    });
    const first = test.picker.route(makeRequest({ id: 'warm', prompt }), { firstTokenSeen: true });
    first.done('completed');
    const headers = new Map([['x-request-id', 'abc']]);
    test.picker.route(makeRequest({ id: 'ours', prompt, headers }));
    const explanation = test.explained('abc') as Explanation;
    const text = explanationText(explanation, { all: false, time: '1970-01-01T00:00:00.000Z' });
    expect(text).toMatchInlineSnapshot(`
      "request    abc (ours), decision 1
      asked      1970-01-01T00:00:00.000Z  model m  640 prompt tokens
      went to    near, score 1
      out of     2 endpoints

      profile default
        decode-filter dropped none

           endpoint   total  predicted-cost-scorer×1
        →  near           1                        1
           far       0.5873                   0.5873

        predicted-cost-scorer   near    far
        cachedTokens             640      0
        ownPrefillMs               0   25.8
        stepsMs                    6      6
        answersMs              30.72  30.72
        costMs                 36.72  62.52

        the runner-up far would have cost 62.52 ms (costMs), 25.8 ms more than the pick
        the runner-up far is behind by 0.4127 in score
      "
    `);
  });
});

describe('/debug/decisions', () => {
  const ask = (test: ReturnType<typeof setUp>, query: string): DecisionList =>
    decisionDocuments(test.recorder).get('/debug/decisions')?.(
      new URLSearchParams(query),
    ) as DecisionList;

  it('lists the latest first, page by page, all of them once', () => {
    const test = setUp('default');
    drive(test, 9, 700);
    const numbers: number[] = [];
    let page = ask(test, 'limit=90');
    for (; ; page = ask(test, `limit=90&before=${page.before}`)) {
      numbers.push(...page.decisions.map(({ number }) => number));
      if (page.before === undefined) break;
    }
    expect(numbers).toEqual(Array.from({ length: 700 }, (_, at) => 699 - at));
    expect(page.held.decisions).toBe(700);
  });

  it('[O46] says when first tokens were expected and came, and how long requests waited', () => {
    const test = setUp('default');
    test.add('pod');
    const routed = test.picker.route(makeRequest({ id: 'a' }), {
      firstTokenSeen: true,
      waited: { waitedMs: 30, endpoint: undefined, cachedTokens: 0 },
    });
    test.picker.route(makeRequest({ id: 'b' }));
    test.clock.advanceTo(test.clock.now() + 70);
    routed.firstToken();
    const [b, a] = ask(test, 'limit=2').decisions.map(({ times }) => times);
    expect(a).toMatchObject({ waitedMs: 30, observedTtftMs: 100 });
    expect(a?.predictedTtftMs).toBeGreaterThan(30);
    expect(b).toMatchObject({ waitedMs: 0 });
    expect(b).not.toHaveProperty('observedTtftMs');
  });

  it('leaves out what was not asked for', () => {
    const test = setUp('default');
    const seen = drive(test, 10, 300);
    const [first] = ask(test, 'endpoint=pod-1&model=m1&limit=1').decisions;
    expect(first?.outcome).toMatchObject({ endpoint: 'pod-1' });
    expect(first?.model).toBe('m1');
    const all = ask(test, 'endpoint=pod-1&limit=1000').decisions;
    expect(all.length).toBe(seen.filter(({ endpoint }) => endpoint === 'pod-1').length);
  });

  it.each(['limit=0', 'limit=x', 'limit=1001', 'before=-1', 'modle=m'])(
    'refuses %s with a sentence',
    (query) => {
      expect(() => ask(setUp('default'), query)).toThrow(/limit|before|modle/);
    },
  );

  it('refuses to explain a request that is not named or not known', () => {
    const explainDocument = decisionDocuments(setUp('default').recorder).get('/debug/explain');
    expect(() => explainDocument?.(new URLSearchParams(''))).toThrow('no request is named');
    expect(() => explainDocument?.(new URLSearchParams('id=x'))).toThrow('no request "x"');
  });
});
