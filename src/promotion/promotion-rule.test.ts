import { describe, expect, it } from 'vitest';
import { grouped } from '../framework/values/grouped.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { type ArmReport, ArmTally } from './arm-tally.ts';
import {
  beginConditions,
  promotionReason,
  stepCondition,
  waitsFor,
} from './promotion-conditions.ts';
import { demotionReason, promotionRule } from './promotion-rule.ts';
import type { FailureCount } from './recent-failures.ts';

const rule = promotionRule.parse({ shadow: 'mine.yaml' });
const gain = { decisions: 10_000, percent: 5, meanMs: 9, lowPercent: 3.1, highPercent: 7 };

function arm(requests: number, meanMs: number, failed = 0, seed = 1): ArmReport {
  const random = seededRandom(seed);
  const tally = new ArmTally();
  for (let n = 0; n < requests; n++) {
    tally.ended(n < failed);
    // Exponential, as waits are.
    if (n >= failed) tally.answered(-Math.log(1 - random.next()) * meanMs, 0);
  }
  return tally.report();
}

const NONE: FailureCount = { requests: 0, failed: 0 };
const recent = { challenger: NONE, incumbent: NONE, undecided: NONE };
const profilesOnly = { faults: 0, undecided: undefined, restarts: 0 };

describe('the rule of promotion', () => {
  it('promotes a shadow that was certainly better for long enough and without a fault', () => {
    expect(promotionReason(rule, { ...profilesOnly, gain })).toContain('5.0 % better');
  });

  it.each([
    ['too few decisions', { ...profilesOnly, gain: { ...gain, decisions: 9999 } }],
    ['not better for certain', { ...profilesOnly, gain: { ...gain, lowPercent: 2.9 } }],
    ['nothing to tell by', { ...profilesOnly, gain: { ...gain, lowPercent: Number.NaN } }],
    ['a fault', { ...profilesOnly, gain, faults: 1 }],
  ])('does not let it begin with %s', (_, shown) => {
    expect(promotionReason(rule, shown)).toBeUndefined();
  });

  it('demotes a shadow that certainly answers later', () => {
    const arms = { challenger: arm(1000, 150), incumbent: arm(9000, 100, 0, 2), recent };
    expect(demotionReason(rule.demote, arms)).toMatch(/it answers after 1\d\d ms on average/);
  });

  it('[O388] demotes a shadow whose slow requests clients give up on', () => {
    const tally = new ArmTally();
    for (let n = 0; n < 160; n++) {
      tally.ended(false);
      tally.answered(40 + (n % 20), 0);
    }
    for (let n = 0; n < 40; n++) tally.aborted(700, 0);
    const arms = { challenger: tally.report(), incumbent: arm(300, 50), recent };
    expect(demotionReason(rule.demote, arms)).toMatch(
      /^it answers after 180 ms on average \(160 answers, 40 aborted before it\), the .* \(300 answers\)$/,
    );
    const young = { challenger: arms.challenger, incumbent: arm(199, 50), recent };
    expect(demotionReason(rule.demote, young)).toBeUndefined();
  });

  it('demotes a shadow that fails more often', () => {
    const arms = { challenger: arm(300, 100, 30), incumbent: arm(9000, 100, 5, 2), recent };
    expect(demotionReason(rule.demote, arms)).toBe(
      '30 of its 300 requests failed, but only 5 of 9,000 of the configuration in charge',
    );
  });

  it('does not demote a shadow that is as good, or has too few requests', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const arms = {
        challenger: arm(500, 100, 3, seed),
        incumbent: arm(5000, 100, 30, seed + 999),
        recent,
      };
      expect(demotionReason(rule.demote, arms), `seed ${seed}`).toBeUndefined();
    }
    const young = { challenger: arm(199, 900, 100), incumbent: arm(9000, 100), recent };
    expect(demotionReason(rule.demote, young)).toBeUndefined();
  });

  it('tolerates the configured loss of latency', () => {
    const arms = { challenger: arm(20_000, 108), incumbent: arm(20_000, 100, 0, 2), recent };
    expect(demotionReason(rule.demote, arms)).toBeDefined();
    expect(demotionReason({ ...rule.demote, latencyWorsePercent: 10 }, arms)).toBeUndefined();
  });

  it.each([
    ['as often as before', { requests: 8000, failed: 160 }, { requests: 5000, failed: 100 }, false],
    [
      'a little more often',
      { requests: 8000, failed: 210 },
      { requests: 5000, failed: 100 },
      false,
    ],
    [
      'certainly more often',
      { requests: 8000, failed: 400 },
      { requests: 5000, failed: 100 },
      true,
    ],
    ['often, without any request before', { requests: 300, failed: 60 }, NONE, true],
    ['seldom, without any request before', { requests: 300, failed: 3 }, NONE, false],
  ])(
    '[V74] at 100 % judges requests that fail %s by those before the promotion',
    (_, now, before, demotes) => {
      const arms = {
        challenger: arm(300, 100),
        incumbent: arm(0, 100),
        recent: { challenger: now, incumbent: before, undecided: NONE },
      };
      const expected = demotes
        ? `${grouped(now.failed)} of its latest ${grouped(now.requests)} requests failed, but only ${grouped(before.failed)} of ${grouped(before.requests)} of the configuration in charge before`
        : undefined;
      expect(demotionReason(rule.demote, arms)).toBe(expected);
    },
  );

  it('[V72] says what it waits for, in numbers', () => {
    const own = promotionRule.parse({ shadow: 'x', promote: { decisions: 5000 } });
    const young = { ...gain, decisions: 919, percent: 8, meanMs: 90, lowPercent: Number.NaN };
    expect(waitsFor(beginConditions(own, { ...profilesOnly, gain: young, faults: 2 }))).toBe(
      '919 decisions, 5,000 needed; gain 90.0 ms (8.0 %), 95 % interval not known yet (its lower end must be at least 3 %); 2 requests that only one refuses, there must be none',
    );
    expect(waitsFor(beginConditions(own, undefined))).toContain(
      '0 decisions, 5,000 needed; gain not known',
    );
    expect(waitsFor(beginConditions(own, { ...profilesOnly, gain }))).toBe('');
    const step = stepCondition(own, { requests: 812, percent: 5, next: 25 });
    expect(waitsFor([step])).toBe('812 requests at 5 %, 2,000 needed before 25 %');
  });

  it('[V235] counts what a shadow has shown since its restart, and asks for more after each', () => {
    const own = promotionRule.parse({ shadow: 'x', promote: { decisions: 5000 } });
    const after = (decisions: number, restarts: number): string =>
      waitsFor(beginConditions(own, { ...profilesOnly, gain: { ...gain, decisions }, restarts }));
    expect(after(9999, 1)).toBe('9,999 decisions since its last restart (1 in all), 10,000 needed');
    expect(after(10_000, 1)).toBe('');
    expect(after(10_000, 2)).toBe(
      '10,000 decisions since its last restart (2 in all), 15,000 needed',
    );
    expect(after(5000, 0)).toBe('');
  });

  it('[G203] lets a scheduler begin that leaves few requests to its profiles', () => {
    const waits = (undecided: number): string =>
      waitsFor(beginConditions(rule, { ...profilesOnly, gain, undecided }));
    expect(waits(100)).toBe('');
    expect(waits(200)).toBe(
      '200 of 10,200 requests (1.96 %) left to its profiles, at most 1 % allowed',
    );
    const names = beginConditions(rule, { ...profilesOnly, gain }).map(({ name }) => name);
    expect(names).toEqual(['decisions', 'gain', 'faults']);
  });

  it.each([
    ['all of them', { requests: 200, failed: 200 }, true],
    ['certainly more than may fail', { requests: 1000, failed: 50 }, true],
    ['a few', { requests: 1000, failed: 12 }, false],
    ['all of too few', { requests: 199, failed: 199 }, false],
  ])(
    '[G204] [G213] demotes a shadow for the requests left to its profiles: %s',
    (_, undecided, demotes) => {
      const challenger = { ...arm(500, 80), undecided: { disconnected: 2, deadline: 40 } };
      const arms = { challenger, incumbent: arm(500, 100), recent: { ...recent, undecided } };
      const { failed, requests } = undecided;
      const expected = demotes
        ? `its scheduler left ${grouped(failed)} of its latest ${grouped(requests)} requests to the profiles: deadline, disconnected`
        : undefined;
      expect(demotionReason(rule.demote, arms)).toBe(expected);
    },
  );

  it('[G205] demotes a shadow whose scheduler has thrown, however few its requests are', () => {
    const challenger = { ...arm(2, 80), undecided: { threw: 1 } };
    const arms = { challenger, incumbent: arm(500, 100), recent };
    expect(demotionReason(rule.demote, arms)).toBe('its scheduler threw, at 1 of its requests');
  });

  it('refuses steps that do not rise, and unknown fields', () => {
    const parse = (promote: object) => () => promotionRule.parse({ shadow: 'x', promote });
    expect(parse({ stepsPercent: [50, 5] })).toThrow(/must rise/);
    expect(parse({ steps: [5] })).toThrow(/steps/);
  });
});
