import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import type { ArmReport } from './arm-tally.ts';
import { Promotion, type PromotionEvent } from './promotion.ts';
import { type ArmReports, promotionRule, type ShadowEvidence } from './promotion-rule.ts';

const NOTHING: ArmReport = {
  requests: 0,
  failed: 0,
  aborted: 0,
  undecided: {},
  latency: { count: 0, meanMs: 0, varianceMs2: 0, waitedMs: 0 },
};
const NO_FAILURES = { requests: 0, failed: 0 };
const good = (requests: number): ArmReport => ({
  requests,
  failed: 0,
  aborted: 0,
  undecided: {},
  latency: { count: requests, meanMs: 100, varianceMs2: 100, waitedMs: 0 },
});
const BETTER: ShadowEvidence = {
  gain: { decisions: 20_000, percent: 8, meanMs: 9, lowPercent: 6, highPercent: 10 },
  faults: 0,
  undecided: undefined,
  restarts: 0,
};

function setUp({ withRule = true } = {}) {
  const clock = new SimulatedClock();
  const events: PromotionEvent[] = [];
  const calls: string[] = [];
  const recent = { challenger: NO_FAILURES, incumbent: NO_FAILURES, undecided: NO_FAILURES };
  let outcomes: ArmReports = { challenger: NOTHING, incumbent: NOTHING, recent };
  const waits: string[] = [];
  const ends: string[] = [];
  let shown: ShadowEvidence | undefined;
  let refuses = false;
  const promotion = new Promotion({
    challenger: {
      start: (shadow) => {
        calls.push(`begin ${shadow}`);
        if (refuses) throw new Error('it cannot be made');
      },
      setShare: (percent) => void calls.push(`share ${percent}`),
      withdraw: () => void calls.push('end'),
      outcomes: () => outcomes,
    },
    evidenceOf: () => shown,
    rule: withRule ? promotionRule.parse({ shadow: 'mine' }) : undefined,
    clock,
    onEvent: (event) => void events.push(event),
    onWaiting: (text) => void waits.push(text),
    onRuleEnded: (why) => void ends.push(why),
  });
  const look = (): void => void clock.step(clock.now() + 1000);
  return {
    promotion,
    events,
    calls,
    waits,
    ends,
    look,
    has: (arms: Partial<ArmReports>) => void (outcomes = { ...outcomes, ...arms }),
    shows: (now: ShadowEvidence | undefined) => void (shown = now),
    refuse: () => void (refuses = true),
  };
}

describe('promotion', () => {
  it('[G215] reports why the rule ends where nothing is promoted, once', () => {
    const { promotion, ends, events } = setUp();
    promotion.fail('the configuration in charge has changed');
    promotion.fail('the configuration in charge has changed');
    promotion.demote();
    expect(ends).toEqual(['the configuration in charge has changed']);
    expect(promotion.status().ruleEnded).toBe('the configuration in charge has changed');
    expect(events).toEqual([]);
    const byHand = setUp();
    byHand.promotion.promote('mine', 5);
    expect(byHand.promotion.status().ruleEnded).toBe('a change by hand');
    const none = setUp({ withRule: false });
    none.promotion.demote();
    expect([none.ends, none.promotion.status()]).toMatchObject([[], { hasRule: false }]);
    expect(none.promotion.status()).not.toHaveProperty('ruleEnded');
  });

  it('by rule goes step by step, and leaves some requests for comparison', () => {
    const { calls, look, has, shows } = setUp();
    look();
    expect(calls).toEqual([]);
    shows(BETTER);
    look();
    expect(calls).toEqual(['begin mine', 'share 5']);
    has({ challenger: good(1999), incumbent: good(40_000) });
    look();
    expect(calls).toHaveLength(2);
    has({ challenger: good(2000) });
    for (let n = 0; n < 10; n++) look();
    expect(calls.slice(2)).toEqual(['share 25', 'share 50', 'share 95']);
  });

  it('[O479] names the shadow that decides and its share, while one does', () => {
    const { promotion } = setUp();
    expect(promotion.promoted).toBeUndefined();
    promotion.promote('mine', 5);
    expect(promotion.promoted).toEqual({ shadow: 'mine', percent: 5 });
    promotion.demote();
    expect(promotion.promoted).toBeUndefined();
  });

  it('demotes a shadow that regresses, and does not promote it again', () => {
    const { promotion, calls, events, look, has, shows } = setUp();
    shows(BETTER);
    look();
    const slow = {
      ...good(500),
      latency: { count: 500, meanMs: 200, varianceMs2: 100, waitedMs: 0 },
    };
    has({ challenger: slow, incumbent: good(9500) });
    look();
    expect(calls.at(-1)).toBe('end');
    expect(events.at(-1)).toMatchObject({
      what: 'demoted',
      by: 'rule',
      shadow: 'mine',
      percent: 0,
    });
    has({ challenger: NOTHING, incumbent: NOTHING });
    look();
    look();
    expect(calls.at(-1)).toBe('end');
    expect(promotion.status()).toMatchObject({ shadow: undefined, automatic: false });
  });

  it('follows manual actions, and still demotes a shadow that regresses', () => {
    const { promotion, calls, events, look, has } = setUp({ withRule: false });
    promotion.promote('mine', 20);
    promotion.promote('mine', 40);
    promotion.promote('other', 10);
    expect(calls).toEqual(['begin mine', 'share 20', 'share 40', 'begin other', 'share 10']);
    has({ challenger: { ...good(300), failed: 100 }, incumbent: good(2700) });
    look();
    expect(events.at(-1)?.why).toContain('100 of its 300 requests failed');
    expect(promotion.demote()).toBe(false);
  });

  it('[O389] says that it ends with the picker, where something was promoted', () => {
    const { promotion, events } = setUp({ withRule: false });
    promotion.promote('mine', 10);
    promotion.stop();
    expect(events.map(({ what, why }) => `${what}: ${why}`)).toEqual([
      'promoted: asked for',
      'demoted: the picker ends; it begins with the configuration in charge when it starts again',
    ]);
    const other = setUp({ withRule: false });
    other.promotion.stop();
    expect(other.events).toEqual([]);
  });

  it('[V70] refuses another shadow that cannot begin, and the present one goes on', () => {
    const { promotion, calls, events, refuse } = setUp();
    promotion.promote('mine', 20);
    const before = { ...promotion.status() };
    refuse();
    expect(() => promotion.promote('mistyped', 30)).toThrow('it cannot be made');
    expect(promotion.status()).toEqual(before);
    expect(calls).toEqual(['begin mine', 'share 20', 'begin mistyped']);
    expect(events).toHaveLength(1);
  });

  it('[V70] a refused action leaves the rule active', () => {
    const { promotion, refuse } = setUp();
    refuse();
    expect(() => promotion.promote('mistyped', 30)).toThrow('it cannot be made');
    expect(promotion.status().automatic).toBe(true);
  });

  it('[V72] says once what the rule waits for, whenever that changes', () => {
    const { promotion, waits, look, has, shows } = setUp();
    look();
    shows({ ...BETTER, gain: { ...BETTER.gain, decisions: 9000 } });
    look();
    look();
    shows(BETTER);
    look();
    has({ challenger: good(10) });
    look();
    expect(waits).toEqual([
      '0 decisions, 10,000 needed; gain not known yet, 95 % interval not known yet (its lower end must be at least 3 %)',
      '9,000 decisions, 10,000 needed',
      '0 requests at 5 %, 2,000 needed before 25 %',
    ]);
    expect(promotion.status().conditions).toMatchObject([
      { name: 'requests', met: false, value: 10, needed: 2000 },
    ]);
    promotion.demote();
    expect(promotion.status().conditions).toEqual([]);
  });

  it('reports a plan that cannot be made, and changes nothing', () => {
    const { promotion, events, look, shows, refuse } = setUp();
    refuse();
    shows(BETTER);
    look();
    expect(events).toMatchObject([{ what: 'demoted', why: 'it cannot be made' }]);
    expect(() => promotion.promote('mine', 10)).toThrow('it cannot be made');
    expect(promotion.status()).toMatchObject({ shadow: undefined, percent: 0 });
  });
});
