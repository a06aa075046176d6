import { describe, expect, it } from 'vitest';
import type { Redecision } from '../redecide/redecision.ts';
import { explainedText } from './explained-decisions.ts';
import { ShadowComparison } from './shadow-comparison.ts';
import { undecidedText } from './undecided-text.ts';

const decided = (by: string | undefined, more: Partial<Redecision> = {}): Redecision =>
  ({
    n: 0,
    request: { id: 'r', model: 'm', promptTokens: 10 },
    was: { endpoint: 'a', score: 1, by },
    is: { endpoint: 'a', score: 1 },
    ttftMs: { was: 100, is: 80, best: 80 },
    ...more,
  }) as Redecision;

describe('the comparison of a shadow with the picker', () => {
  it('[V73] leaves out what the promoted shadow decided itself, and says how many', () => {
    const comparison = new ShadowComparison('mine.yaml');
    for (let n = 0; n < 70; n++) comparison.add(decided('mine.yaml'));
    for (let n = 0; n < 20; n++) comparison.add(decided(undefined));
    for (let n = 0; n < 10; n++) comparison.add(decided('other.yaml'));
    const { all, gain, ownDecisions } = comparison.report(undefined);
    expect([all.decisions, gain.decisions, ownDecisions]).toEqual([30, 30, 70]);
  });

  it('counts what its scheduler left to the profiles apart', () => {
    const comparison = new ShadowComparison('mine.yaml');
    comparison.add(decided(undefined, { undecided: true }));
    comparison.add(decided(undefined));
    const { all, replacement } = comparison.report({
      name: 'remote',
      decided: 0,
      declined: new Map([['disconnected', 1]]),
      connected: false,
      cause: 'connect ECONNREFUSED 127.0.0.1:1',
    });
    expect([all.decisions, replacement]).toEqual([
      1,
      {
        name: 'remote',
        undecided: 1,
        reasons: { disconnected: 1 },
        trouble: 'connect ECONNREFUSED 127.0.0.1:1',
      },
    ]);
  });

  it('[O527] says of what its scheduler left to the profiles why, and what to do', () => {
    expect(undecidedText(undefined)).toBeUndefined();
    const none = { name: 'remote', undecided: 0, reasons: { 'no-opinion': 3 } };
    expect(undecidedText(none)).toBeUndefined();
    const reasons = { 'breaker-open': 9, deadline: 1200, a: 1, b: 1, c: 1 };
    expect(undecidedText({ ...none, undecided: 1209, reasons })).toBe(
      'its scheduler left 1,209 requests to the profiles, which are not compared (1,200 deadline, 9 breaker-open, 1 a, 1 b); pointsman scheduler check asks it',
    );
    expect(undecidedText({ ...none, undecided: 1, trouble: 'no answer' })).toMatch(
      / left 1 request .*; it is not connected: no answer; /,
    );
  });

  it('[D480] [O449] counts why observed decisions differ, and says it in a sentence', () => {
    const comparison = new ShadowComparison('mine.yaml');
    comparison.add(decided('observed'));
    expect(comparison.report(undefined).explained).toBeUndefined();
    const all = [
      { why: 'same', drawn: 'unexplained' },
      { why: 'same', drawn: 'unexplained' },
      { why: 'tie', drawn: 'same' },
      { why: 'samples', drawn: 'samples' },
    ] as const;
    for (const explained of all) comparison.add(decided('observed', { explained }));
    const { explained } = comparison.report(undefined);
    expect(explained).toEqual({
      why: { same: 2, tie: 1, 'not-scored': 0, samples: 1, unexplained: 0 },
      drawn: { same: 1, tie: 0, 'not-scored': 0, samples: 1, unexplained: 2 },
    });
    expect(explained && explainedText(explained)).toBe(
      'of a sample of 4 decisions 50.0 % have the same endpoint, 25.0 % are ties, 0.0 % went to an endpoint that is left out here, 25.0 % follow from earlier samples, 0.0 % are not explained; of endpoints drawn at random 50.0 % would not be',
    );
  });
});
