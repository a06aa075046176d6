import { expect, it } from 'vitest';
import { makeContext, makePool } from '../../test/makers.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import type { Decision, ProfileResult, ProfileRun } from '../framework/scheduling.ts';
import { PluginFaults } from '../picker/faults/plugin-faults.ts';
import { replacedScheduler } from '../picker/scheduling/replacement-scheduler.ts';
import { toDecision } from '../remote/read-decision.ts';
import { rankIn, standingOf } from './standing.ts';

const [a, b, c] = makePool([{}, {}, {}]) as [Endpoint, Endpoint, Endpoint];

function picked(profile: string, scores: readonly (readonly [Endpoint, number])[]): ProfileResult {
  const scored = scores.map(([endpoint, score]) => ({ endpoint, score }));
  const scorers = [{ name: 'only', type: 'only', weight: 1, scorer: { score: () => [] } }];
  const run = {
    profile: { name: profile, filters: [], scorers, picker: { pick: () => [] } },
    scores: [scored.map(({ score }) => score)],
    endpoints: scored.map(({ endpoint }) => endpoint),
    totals: scored.map(({ score }) => score),
  } as unknown as ProfileRun;
  return { kind: 'picked', profile, targets: scored.slice(0, 1), run };
}

it('ranks by the profile of the primary, also where another profile picks the same endpoint', () => {
  const decode = picked('decode', [
    [a, 1],
    [b, 0.5],
    [c, 0.25],
  ]);
  const prefill = picked('prefill', [
    [a, 1],
    [c, 0.75],
  ]);
  const decision: Decision = {
    primary: decode,
    profiles: [decode, prefill],
    headers: new Map(),
    prefill: a,
  };
  expect(rankIn(b, decision)).toBe(2);
  expect(standingOf(c, decision)).toEqual({
    candidates: 3,
    scores: { was: 0.25, is: 1 },
    terms: [{ scorer: 'only', was: 0.25, is: 1 }],
  });
});

it.each([1, 3])(
  '[G183] ranks by all that a scheduler in another process names, where %d are sent to the proxy',
  (targetsMax) => {
    const targets = [
      { id: b.id, score: 0 },
      { id: c.id, score: -1 },
      { id: a.id, score: -1 },
    ];
    const named = { refuse: false, targets, prefill: undefined, headers: new Map() };
    const faults = new PluginFaults();
    const mine = { schedule: () => toDecision(named, [a, b, c], 'mine') };
    const none = { schedule: () => expect.fail('the scheduler decides') };
    const decision = replacedScheduler(mine, none, { type: 'remote', faults, targetsMax }).schedule(
      [a, b, c],
      makeContext(),
    );
    expect([a, b, c].map((each) => rankIn(each, decision))).toEqual([2, 1, 2]);
    expect(standingOf(a, decision)).toMatchObject({ candidates: 3, scores: { was: -1, is: 0 } });
    expect(decision.primary).toMatchObject({ targets: { length: targetsMax } });
  },
);
