import { describe, expect, it } from 'vitest';
import type { RunRedecision } from './redecide.ts';
import { RedecideTally } from './redecide-tally.ts';

function decided(n: number, was: [string, number], is: [string, number]): RunRedecision {
  const decision = ([endpoint, score]: [string, number]): object => ({ endpoint, score });
  const request = { promptTokens: 10 };
  return { run: 1, n, request, was: decision(was), is: decision(is) } as unknown as RunRedecision;
}

const ALL = [
  decided(1, ['a', 0.5], ['a', 0.25]),
  decided(2, ['a', 0.5], ['a', 0.75]),
  decided(3, ['a', 0.5], ['b', 0.75]),
];

function tallied(isComparison: boolean, all = ALL): RedecideTally {
  const tally = new RedecideTally(10, { isComparison });
  for (const each of all) tally.add(each);
  return tally;
}

describe('[O270] what redecide prints', () => {
  it('counts equal picks against another configuration, and shows those that differ', () => {
    const text = tallied(true).text();
    expect(text).toMatch(
      /^against another configuration: same pick in 2 of 3 decisions \(66\.667 %\), 1 to another endpoint\n/,
    );
    expect(text).not.toContain('identical');
    expect(text).toContain('  3, 10: a (0.5000) → b (0.7500)');
    expect(text).not.toContain('  1, 10:');
  });

  it('[O502] says of one decision that it is one', () => {
    const one = ALL.slice(0, 1);
    expect(tallied(false, one).text()).toMatch(/^1 decision, 0\.000 % identical/);
    expect(tallied(true, one).text()).toContain('same pick in 1 of 1 decision (100.000 %)');
  });

  it('[O502] marks thousands in its counts', () => {
    const long = { ...decided(3, ['a', 0.5], ['b', 0.75]), request: { promptTokens: 12_345 } };
    const all = Array.from({ length: 1200 }, () => long as unknown as RunRedecision);
    const text = tallied(false, all).text();
    expect(text).toMatch(/^1,200 decisions, 0\.000 % identical, 1,200 to another endpoint\n/);
    expect(text).toContain('  a         1,200      0\n');
    expect(text).toContain('  3, 12,345: a (0.5000)');
    expect(tallied(true, all).text()).toContain('same pick in 0 of 1,200 decisions');
  });

  it('[O283] aligns its table to the longest name of an endpoint', () => {
    const pod = 'default/vllm-llama-70b-decode-7c9f8d6b5-xk2lq';
    const text = tallied(true, [decided(1, [pod, 0.5], ['b', 0.75])]).text();
    expect(text).toContain(`\n  endpoint${' '.repeat(pod.length - 8)}  was  is\n`);
    expect(text).toContain(`\n  ${pod}    1   0\n`);
  });

  it('is one line where all picks are the same and only scores differ', () => {
    expect(tallied(true, ALL.slice(0, 2)).text()).toBe(
      'against another configuration: same pick in 2 of 2 decisions (100.000 %), 0 to another endpoint\n',
    );
  });

  it('counts scores, too, where the capture’s own configuration decides', () => {
    const text = tallied(false).text();
    expect(text).toMatch(/^3 decisions, 0\.000 % identical, 1 to another endpoint\n/);
    expect(text).toContain('  1, 10:');
  });

  it('[G199] says what to do where answers of a scheduler in another process came too late', () => {
    const late = (reason: string): string => {
      const tally = tallied(true);
      tally.add({ ...decided(4, ['a', 0.5], ['b', 0.5]), undecided: true });
      const declined = new Map([[reason, 1]]);
      tally.addReplacement({ name: 'mine', decided: 3, declined });
      return tally.text();
    };
    expect(late('deadline')).toContain(': 1 deadline; on a busy machine, give the scheduler');
    expect(late('no-opinion')).toContain(': 1 no-opinion\n');
  });

  it('[G200] names each decision that differs by the id of its request in the JSON, and none without a list', () => {
    const none = new RedecideTally(0, { isComparison: true });
    for (const each of ALL) none.add(each);
    expect(none.text()).not.toContain('the first that differ');
    const { request, ...rest } = decided(5, ['a', 0.5], ['b', 0.5]);
    const named = { ...rest, request: { ...request, id: 'req-5' } } as RunRedecision;
    expect(tallied(true, [named]).summary()).toMatchObject({ differing: [{ n: 5, id: 'req-5' }] });
  });

  it('[O334] names one endpoint that another configuration leaves as one, and several as several', () => {
    const left = (candidates: number, by?: string): string => {
      const { was, is, ...rest } = decided(1, ['a', 0.5], ['b', 0.5]);
      const standing = { candidates, terms: [] };
      const all = { ...rest, was, is: { ...is, by }, standing } as unknown as RunRedecision;
      return tallied(false, [all]).text();
    };
    expect(left(1, 'mine')).toContain('mine names 1 endpoint, without a');
    expect(left(2, 'mine')).toContain('mine names 2 endpoints, without a');
    expect(left(1)).toContain('the filters leave 1 endpoint, without a');
  });
});
