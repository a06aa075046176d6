import { describe, expect, it } from 'vitest';
import type { Run } from './compare.ts';
import { verdictOf } from './verdict.ts';

interface Shown {
  readonly goodput?: number;
  readonly failed?: number;
}

/** One run for each time, with seeds 1, 2, … */
function runs(name: string, ttftsMs: readonly number[], shown: Shown = {}): readonly Run[] {
  return ttftsMs.map((ttftMeanMs, index) => ({
    job: { name, seed: index + 1 },
    summary: {
      requests: 1000,
      failed: 0,
      ttftMeanMs,
      ttftP50Ms: 0,
      ttftP99Ms: 0,
      tpotMeanMs: 0,
      e2eMeanMs: 0,
      goodput: 0.9,
      hitRate: 0,
      preemptions: 0,
      ...shown,
    },
  }));
}

const SLOW = [200, 210, 190, 205, 195];

describe('[O40] the verdict of a report', () => {
  it('names the soonest, by how much, and the interval of the difference from the next', () => {
    const { headline, cautions, rows } = verdictOf([
      ...runs('first', [300, 310, 290, 305, 295]),
      ...runs('next', SLOW),
      ...runs('best', [100, 105, 95, 103, 97]),
    ]);
    expect(headline).toMatch(
      /^best gives the first token soonest, after 100 ms on average: 50\.0 % sooner than next, the next \(95 % interval: 4\d\.\d to 5\d\.\d %, 5 draws\)\. best is 66\.7 % sooner than first, the first row \(95 % interval: 6\d\.\d to 6\d\.\d %\)\.$/,
    );
    expect(cautions).toEqual([]);
    expect(rows[0]).toBe('the measure');
    expect(rows[1]).toMatch(/^33\.3 ±\d\.\d % sooner$/);
  });

  it('[O510] says how the soonest stands to the first row, also where it is not clearly soonest', () => {
    const close = [...runs('b', SLOW), ...runs('c', [195, 215, 185, 210, 190])];
    const { headline } = verdictOf([...runs('first', [400, 420, 380, 410, 390]), ...close]);
    expect(headline).toMatch(
      /^No configuration is clearly soonest: c .*\. c is \d\d\.\d % sooner than first, the first row \(95 /,
    );
    const one = verdictOf([...runs('a', [300]), ...runs('b', [200]), ...runs('c', [100])]);
    expect(one.headline).toMatch(/chance\. c is 66\.7 % sooner than a, the first row\.$/);
    const unclear = [...runs('first', [100, 900, 100, 900, 100]), ...close];
    expect(verdictOf(unclear).headline).not.toContain('first row');
    expect(verdictOf(close).headline).not.toContain('first row');
  });

  it('[O511] warns of the figures of one configuration, which has no differences', () => {
    expect(verdictOf(runs('a', [200])).cautions[0]).toMatch(
      /^There is one draw, so the figures may/,
    );
  });

  it('[O519] names targets where these were sent requests, and no option that replay does not have', () => {
    const close = [...runs('a', [200]), ...runs('b', [150])];
    const [caution = ''] = verdictOf(close, 'target').cautions;
    expect(caution).toMatch(/^There is one draw.*: send the trace several times/);
    expect(caution).not.toContain('--seeds');
    const failing = [...runs('a', [200], { failed: 3 }), ...runs('b', [150], { failed: 3 })];
    expect(verdictOf(failing, 'target').headline).toMatch(/ fail with each target\.$/);
    expect(verdictOf(runs('a', [Number.NaN]), 'target').headline).toBe(
      'No target has answered a request.',
    );
  });

  it('[O215] never says that something may be more than 100 % sooner', () => {
    const wide = [
      ...runs('slow', [3000, 5900, 4400, 4000, 4300]),
      ...runs('fast', [640, 620, 650, 630, 640]),
    ];
    expect(verdictOf(wide).headline).toMatch(/interval: \d\d\.\d to 100\.0 %, 5 draws/);
  });

  it('says so where the difference may be chance, in the headline and in the row', () => {
    const { headline, rows } = verdictOf([
      ...runs('a', SLOW),
      ...runs('b', [195, 215, 185, 210, 190]),
    ]);
    expect(headline).toMatch(/^No configuration is clearly soonest: b gives .* may be chance/);
    expect(rows[1]).toMatch(/^no clear difference \(−\d\.\d to \d\.\d %\)$/);
  });

  it('warns below five draws, and does not judge by one', () => {
    const one = verdictOf([...runs('a', [200]), ...runs('b', [100])]);
    expect(one.headline).toContain('One draw cannot say whether that is chance.');
    expect(one.rows[1]).toBe('50.0 % sooner, one draw');
    expect(one.cautions[0]).toMatch(/^There is one draw.*--seeds 5/);
    expect(verdictOf(runs('a', SLOW)).cautions).toEqual([]);
  });

  it('[O335] calls nothing sooner where the difference is none as far as it is shown', () => {
    const one = verdictOf([...runs('a', [200]), ...runs('b', [200.01])]);
    expect(one.headline).toBe(
      'a and b give the first token equally soon, after 200 ms on average.',
    );
    expect(one.rows).toEqual(['the measure', 'equally soon']);
    const several = verdictOf([...runs('a', SLOW), ...runs('b', SLOW)]);
    expect(several.headline).toMatch(/^a and b give the first token equally soon/);
  });

  it('[O274] gives no interval of two to four draws, in headline, row and caution', () => {
    const { headline, rows, cautions } = verdictOf([
      ...runs('a', [200, 210, 190, 205]),
      ...runs('b', [100, 105, 95, 103]),
    ]);
    expect(headline).toMatch(/^In these 4 draws b gives the first token soonest, .* So few cannot/);
    expect(rows[1]).toBe('49.9 % sooner, 4 draws');
    expect(cautions[0]).toMatch(
      /^There are only 4 draws, so differences may be chance .*--seeds 5/,
    );
    const alone = verdictOf(runs('a', [200, 210, 190, 205]));
    expect([headline, ...rows, ...cautions, alone.headline].join()).not.toMatch(/±|interval:/);
    expect(verdictOf(runs('a', SLOW)).headline).toMatch(/\(±\d+\.\d ms, 95 % interval\)/);
  });

  it('names good answers and failures that speak against the soonest', () => {
    const { headline } = verdictOf([
      ...runs('a', SLOW, { goodput: 0.95 }),
      ...runs('b', [100, 105, 95, 103, 97], { goodput: 0.85, failed: 40 }),
    ]);
    expect(headline).toContain('But a has more good answers: 95.0 % against 85.0 %.');
    expect(headline).toContain('40 of 1,000 requests fail with b, 0 with a.');
  });

  it('[O438] says that as many requests fail with each configuration, and not only with the soonest', () => {
    const equal = { failed: 1 };
    const { headline } = verdictOf([...runs('a', SLOW, equal), ...runs('b', [100, 101], equal)]);
    expect(headline).toMatch(/ 1 of 1,000 requests fails with each configuration\.$/);
    const alone = verdictOf(runs('a', SLOW, { failed: 2 })).headline;
    expect(alone).toMatch(/ 2 of 1,000 requests fail with a\.$/);
  });

  it('compares only what has answered where others, or all, have not', () => {
    const none = runs('none', [Number.NaN], { goodput: 0, failed: 1000 });
    expect(verdictOf(none).headline).toBe('No configuration has answered a request.');
    const { headline, rows } = verdictOf([...none, ...runs('a', [100])]);
    expect(headline).toBe('Only a has answered: the first token comes after 100 ms on average.');
    expect(rows).toEqual(['no answers', 'not comparable']);
  });
});
