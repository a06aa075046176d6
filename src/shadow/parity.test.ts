import { describe, expect, it } from 'vitest';
import type { FirstToken, Redecision } from '../redecide/redecision.ts';
import { ParityTally } from './parity.ts';
import { parityFigures } from './parity-figures.ts';
import { decisionLine } from './shadow-log.ts';

const request = (more: Partial<Redecision['request']> = {}): Redecision['request'] => ({
  id: 'r1',
  model: 'm',
  streaming: true,
  promptTokens: 500,
  blockTokens: 64,
  blocks: [],
  priority: 0,
  fairness: '#',
  bodyBytes: 2000,
  ...more,
});

function decision(is: string, more: Partial<Redecision> = {}): Redecision {
  return {
    n: 0,
    request: request(),
    was: { endpoint: 'a', score: 1 },
    is: { endpoint: is, score: 1 },
    ...more,
  };
}

const token = (predictedMs: number, observedMs: number): FirstToken => ({
  request: request(),
  predictedMs,
  observedMs,
});

describe('the parity of a shadow', () => {
  it('counts agreement, ranks of the chosen endpoint, and predicted times', () => {
    const tally = new ParityTally();
    tally.add(decision('a', { place: 1, ttftMs: { was: 100, is: 100, best: 90 } }));
    tally.add(decision('b', { place: 3, ttftMs: { was: 200, is: 140, best: 130 } }));
    tally.add(decision('b', { place: 9 }));
    tally.add(decision('b', { is: { error: 'saturated' } }));
    const { all } = tally.report();
    expect(all).toMatchObject({ decisions: 4, agreed: 1, disputed: 1, placed: [1, 0, 1, 0, 0] });
    expect(parityFigures(all)).toMatchObject({
      agreement: 0.25,
      topThree: 0.5,
      ttftDifferenceMs: -30,
      primaryRegretMs: 40,
      shadowRegretMs: 10,
    });
  });

  it('names a kind for requests without a model', () => {
    const tally = new ParityTally();
    tally.add(decision('a', { request: request({ model: '' }) }));
    expect(Object.keys(tally.report().kinds)).toContain('no model named');
    expect(Object.keys(tally.report().kinds)).not.toContain('model ');
  });

  it('is counted by model, objective and prompt length, up to a limit of kinds', () => {
    const tally = new ParityTally();
    const long = request({ model: 'big', objective: 'batch', promptTokens: 9000 });
    tally.add(decision('a', { request: long }));
    tally.firstToken({ ...token(10, 20), request: long });
    expect(Object.keys(tally.report().kinds)).toEqual([
      'over 8,000 tokens',
      'model big',
      'objective batch',
    ]);
    const short = request({ model: 'a', promptTokens: 10 });
    tally.add(decision('a', { request: short }));
    // In an order of their own, whatever came first.
    expect(Object.keys(tally.report().kinds)).toEqual([
      'up to 1,000 tokens',
      'over 8,000 tokens',
      'model a',
      'model big',
      'objective batch',
    ]);
    expect(tally.report().kinds['objective batch']?.calibration.observedMs).toBe(20);
    for (let n = 0; n < 200; n++) {
      tally.add(decision('a', { request: request({ model: `m${n}` }) }));
    }
    const { kinds } = tally.report();
    expect(Object.keys(kinds).length).toBeLessThanOrEqual(51);
    expect(kinds['other']?.decisions).toBeGreaterThan(100);
  });

  it('compares predictions with observed first tokens, by predicted time', () => {
    const tally = new ParityTally();
    tally.firstToken(token(3, 6));
    tally.firstToken(token(4, 2));
    tally.firstToken(token(0, 1));
    tally.firstToken(token(1e9, 1));
    const { all, calibration } = tally.report();
    expect(calibration.map(({ upToMs, firstTokens }) => [upToMs, firstTokens])).toEqual([
      [1, 1],
      [4, 2],
      [2 ** 20, 1],
    ]);
    expect(calibration[1]).toMatchObject({ predictedMs: 7, observedMs: 8, absoluteErrorMs: 5 });
    expect(all.calibration.firstTokens).toBe(4);
  });

  it('has no figures before the first decision', () => {
    const figures = parityFigures(new ParityTally().report().all);
    expect(Object.values(figures).every((each) => each === undefined)).toBe(true);
  });
});

it('a line of the log has the decision of the shadow and the one that was carried out', () => {
  const line = decisionLine('mine.yaml', 1_000.4, decision('b', { place: 2 }));
  expect(line.endsWith('\n')).toBe(true);
  expect(JSON.parse(line)).toEqual({
    at: 1000,
    shadow: 'mine.yaml',
    n: 0,
    id: 'r1',
    model: 'm',
    promptTokens: 500,
    streaming: true,
    was: { endpoint: 'a', score: 1 },
    is: { endpoint: 'b', score: 1 },
    agrees: false,
    place: 2,
  });
});
