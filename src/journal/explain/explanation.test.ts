import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import {
  drive,
  recordedPicker,
  WITH_ADMITTER,
  WITH_FILTERS,
} from '../../../test/support/explain-bed.ts';
import { worldOf } from '../../../test/support/waiting-bed.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { chainBlockIds } from '../../openai/prompts/chain-block-ids.ts';
import { DecisionRecorder } from './decision-recorder.ts';
import { type Explanation, explain } from './explanation.ts';
import { explanationText, outcomeText } from './explanation-text.ts';
import { findDecision } from './find-decision.ts';

describe('an explanation', () => {
  it('[V78] says in place of which scheduler the profiles decided, and why', () => {
    const test = recordedPicker('default');
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

  it('[O502] marks thousands in its counts, times and terms', () => {
    const test = recordedPicker('default');
    for (const name of ['a', 'b']) test.add(name);
    test.picker.route(makeRequest({ id: 'long', promptTokens: 123_456 }));
    const long = test.explained('long') as Explanation;
    const text = explanationText(long, { all: false, time: '' });
    expect(text).toContain(' 123,456 prompt tokens\n');
    expect(text).toMatch(/ownPrefillMs +\d+,\d{3} +\d+,\d{3}\n/);
    expect(text).not.toMatch(/\d{4}/);
  });

  it('[G208] names the scheduler that refused a request, and no filters', () => {
    const test = recordedPicker('default');
    test.add('a');
    const primary = { kind: 'exhausted', profile: 'remote', candidates: 1 } as const;
    test.decisions.change = (decision) => ({
      ...decision,
      primary: { ...primary, refusedBy: 'mine' },
      profiles: [primary],
    });
    test.picker.route(makeRequest({ id: 'refused' }));
    const refused = test.explained('refused') as Explanation;
    expect(refused.outcome).toEqual({ kind: 'refused', refusedBy: 'mine' });
    expect(explanationText(refused, { all: false, time: '' })).toContain(
      'no endpoint: the scheduler mine refused the request\n',
    );
  });

  it('[G211] says that screening left no endpoint, and names no profile', () => {
    const test = recordedPicker('default');
    test.add('a');
    const primary = { kind: 'exhausted', profile: 'screening', candidates: 1 } as const;
    test.decisions.change = (decision) => ({
      ...decision,
      primary: { ...primary, screened: true },
      profiles: [primary],
    });
    test.picker.route(makeRequest({ id: 'screened' }));
    const screened = test.explained('screened') as Explanation;
    expect(screened.outcome).toEqual({ kind: 'screened' });
    expect(explanationText(screened, { all: false, time: '' })).toContain(
      '\nwent to    no endpoint: screening left none\n',
    );
  });

  it('[G212] says that a plugin refused a request on purpose, and with which words', () => {
    const test = recordedPicker(WITH_ADMITTER);
    test.add('never-sampled');
    expect(() => test.picker.route(makeRequest({ id: 'low', priority: -1 }))).toThrow('saturated');
    const { outcome } = test.explained('low') as Explanation;
    expect(outcome).toMatchObject({ kind: 'rejected' });
    expect(outcomeText(outcome)).toMatch(
      /^no endpoint: a plugin refused it: the pool is 100 % saturated and the priority of this/,
    );
  });

  it('[O441] says of a request that waited until it was refused which answer its client got, and names no plugin', () => {
    const world = worldOf(1, { maxWaitMs: 1000 });
    world.send({ id: 'first', promptTokens: 200_000 });
    world.send({ id: 'late', promptTokens: 200_000 });
    world.clock.advanceTo(world.clock.now() + 2000);
    expect(world.order).toContain('!late');
    const recorder = new DecisionRecorder({ clock: world.clock });
    for (const event of world.decided) recorder.onDecision(event);
    const found = findDecision(recorder.ring.segments(), 'late');
    const outcome = found && explain(found).outcome;
    const why = 'no endpoint could begin the request in 1 s, and it may wait no longer';
    expect(outcome).toEqual({ kind: 'expired', why });
    expect(outcome && outcomeText(outcome)).toBe(`no endpoint: ${why}`);
  });

  it('[Q82] says how long a request has waited, for which endpoint, and what that has of its prompt', () => {
    const test = recordedPicker('default');
    test.add('pod-a');
    test.add('pod-b');
    const waited = { heldMs: 1234.5, endpoint: 'pod-b' as EndpointId, cachedTokens: 30_000 };
    test.picker.route(makeRequest({ id: 'late' }), { waited });
    test.picker.route(makeRequest({ id: 'at once' }));
    const late = test.explained('late');
    const { heldMs: waitedMs, ...forWhat } = waited;
    expect(late).toMatchObject({ waited: { waitedMs, ...forWhat } });
    expect(late && explanationText(late, { all: false, time: '' })).toContain(
      '\nwaited     1,235 ms for pod-b, which has 30,000 of its tokens\n',
    );
    expect(test.explained('at once')).not.toHaveProperty('waited');
    const gone = { ...waited, endpoint: undefined };
    test.picker.route(makeRequest({ id: 'unknown' }), { waited: gone });
    expect(test.explained('unknown')?.waited).toEqual({ waitedMs: 1234.5, cachedTokens: 30_000 });
  });

  it('[V496] says how many requests in flight at the pick were taken for lost', () => {
    const test = recordedPicker('default');
    test.add('pod-a');
    const send = (id: string): RoutedRequest =>
      test.picker.route(makeRequest({ id, streaming: true }), { firstTokenVisible: true });
    send('first');
    test.clock.advanceTo(10_000);
    send('second').firstToken();
    test.clock.advanceTo(11_000);
    send('third');
    send('fourth');
    expect(test.explained('second')).not.toHaveProperty('lostRequests');
    const third = test.explained('third');
    expect(third).toMatchObject({ lostRequests: 1 });
    expect(third && explanationText(third, { all: false, time: '' })).toContain(
      '\nlost       1 request in flight there seems lost: it is no load\n',
    );
    // What stands behind it in the record is read, too.
    expect(test.explained('fourth')).toMatchObject({ lostRequests: 1, outcome: third?.outcome });
  });

  it('names what filters dropped, also where they left none', () => {
    const test = recordedPicker(WITH_FILTERS);
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
    const test = recordedPicker('default');
    drive(test, 8, 600);
    const explanation = test.explained('own-599');
    const profile = explanation?.profiles[0];
    const names = profile?.scorers[0]?.terms ?? [];
    const added = names.filter((name) => name.endsWith('Ms') && name !== 'costMs');
    const of = (terms: readonly number[], name: string): number => terms[names.indexOf(name)] ?? 0;
    const rows = profile?.endpoints.map(({ terms: [terms = []] }) => terms) ?? [];
    for (const terms of rows) {
      const sum = added.reduce((total, name) => total + of(terms, name), 0);
      // Terms are kept to seven digits.
      expect(sum).toBeCloseTo(of(terms, 'costMs'), 3);
    }
    const [first = [], second = []] = rows;
    const [cost] = profile?.runnerUp?.costs ?? [];
    expect(profile?.runnerUp?.endpoint).toBe(profile?.endpoints[1]?.endpoint);
    expect(cost?.more).toBe(of(second, 'costMs') - of(first, 'costMs'));
  });

  it('[O460] says once that there was no endpoint', () => {
    const test = recordedPicker('default');
    expect(() => test.picker.route(makeRequest({ id: 'empty' }))).toThrow('no endpoint can serve');
    const explanation = test.explained('empty') as Explanation;
    const text = explanationText(explanation, { all: false, time: '1970-01-01T00:00:00.000Z' });
    expect(text).toContain('went to    no endpoint: the pool has no endpoint\n');
  });

  it('[O173] [O459] says of equal endpoints that they are equal', () => {
    const test = recordedPicker('default');
    for (const name of ['one', 'other']) test.add(name);
    test.picker.route(makeRequest({ id: 'tied' }));
    const explanation = test.explained('tied') as Explanation;
    const text = explanationText(explanation, { all: false, time: '1970-01-01T00:00:00.000Z' });
    expect(text).toMatch(
      /the runner-up \w+ would have cost [\d.]+ ms \(costMs\), as much as the pick/,
    );
    expect(text).toMatch(/the runner-up \w+ has the same score: chance decides between equals/);
  });

  it('is a table that a person can read', () => {
    const test = recordedPicker('default');
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
    const first = test.picker.route(makeRequest({ id: 'warm', prompt }), {
      firstTokenVisible: true,
    });
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

it('[O284] says that the pick of a prefill profile is not used, where the prompt is computed at its decoder', () => {
  const profile = (name: string) => ({
    profile: name,
    filters: [{ filter: `${name}-filter`, dropped: [] }],
    scorers: [],
    endpoints: [],
    notKept: 0,
    picked: [],
    runnerUp: undefined,
  });
  const outcome = { kind: 'picked', profile: 'decode', endpoint: 'd', score: 1 };
  const textOf = (more: object): string =>
    explanationText(
      {
        number: 1,
        id: 'r',
        requestId: '',
        model: 'm',
        promptTokens: 1,
        candidates: [],
        profiles: [profile('decode'), profile('prefill')],
        outcome: { ...outcome, ...more },
      } as unknown as Parameters<typeof explanationText>[0],
      { all: false, time: '' },
    );
  const says =
    'profile prefill\n  its pick is not used: the prompt is computed where it is decoded\n';
  expect(textOf({})).toContain(says);
  expect(textOf({})).toContain('profile decode\n  decode-filter');
  expect(textOf({ prefill: 'p' })).not.toContain('not used');
});
