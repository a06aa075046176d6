import { describe, expect, it } from 'vitest';
import { missedBounds, overall } from './gates.ts';
import type { Standing } from './standings.ts';

const GOOD: Standing = {
  scenario: 's',
  figure: 'ttftMeanMs',
  kind: 'chosen',
  ours: { mean: 80, plusMinus: 1 },
  p99Ms: 200,
  goodput: 0.99,
  tpotMs: 10,
  bestTuned: { policy: 'a', variant: 'x=1', ms: 90, goodput: 0.99 },
  bestUntuned: { policy: 'a', variant: '', ms: 100, goodput: 0.99 },
  untuned: { a: 100, b: 110 },
  ratio: { mean: 0.9, plusMinus: 0.01 },
  atOnce: { ms: 85, p99Ms: 210, goodput: 0.99, tpotMs: 10 },
  rivalWaitingMs: {},
};

describe('missedBounds', () => {
  it('[Q131] names nothing where every bound is kept', () => {
    expect(missedBounds([GOOD, GOOD])).toEqual([]);
  });

  it('[Q131] names each bound that is missed, with its scenario and value', () => {
    const cases: readonly (readonly [Partial<Standing>, string])[] = [
      [{ ours: { mean: 83, plusMinus: 1 } }, 'usual: the geometric mean to a is 0.8300'],
      [{ ratio: { mean: 1.02, plusMinus: 0 } }, 's: our mean to that of the best tuned is 1.0200'],
      [{ p99Ms: 215 }, 's: p99 TTFT to that at once is 1.0238'],
      [{ tpotMs: 10.3 }, 's: TPOT to that at once is 1.0300'],
      [{ goodput: 0.987 }, 's: goodput lost by waiting is 0.0030'],
    ];
    for (const [change, sentence] of cases) {
      expect(missedBounds([{ ...GOOD, ...change }]).join('; ')).toContain(sentence);
    }
  });

  it('[Q131] has bounds of its own for pools with prefill servers and for other engines', () => {
    const ratio = { mean: 1.005, plusMinus: 0 };
    const missed = (kind: Standing['kind']) => missedBounds([{ ...GOOD, kind, ratio }]);
    expect(missed('disaggregated')).toEqual([
      'disaggregated: the geometric mean to the best tuned is 1.0050, at most 1',
      's: our mean to that of the best tuned is 1.0050, at most 1',
    ]);
    expect(missed('chosen')).toHaveLength(1);
    expect(missed('other-engine')).toHaveLength(1);
  });
});

it('[Q131] takes geometric means over scenarios of a group, against the single baseline that is best in them', () => {
  const other = { ...GOOD, ours: { mean: 40, plusMinus: 1 }, untuned: { a: 90, b: 50 } };
  const apart: Standing = { ...GOOD, kind: 'disaggregated', untuned: { c: 100 } };
  const drawn: Standing = { ...other, kind: 'drawn' };
  const [usual, chosen, alone, prefill] = overall([GOOD, drawn, apart]);
  expect([chosen, alone]).toMatchObject([{ group: 'chosen' }, { group: 'drawn' }]);
  expect(usual).toMatchObject({ group: 'usual', scenarios: 2, bestSingle: 'b' });
  expect(usual?.toBestSingle).toBeCloseTo(Math.sqrt((80 / 110) * (40 / 50)), 9);
  expect(usual?.toBestTuned).toBeCloseTo(0.9, 9);
  expect(prefill).toMatchObject({ group: 'disaggregated', bestSingle: 'c', toBestSingle: 0.8 });
});

it('[Q170] takes for the best single baseline only one that was simulated in every scenario', () => {
  const [usual] = overall([GOOD, { ...GOOD, untuned: { b: 120, c: 10 } }]);
  expect(usual).toMatchObject({ bestSingle: 'b' });
});
