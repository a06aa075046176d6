import type { CalibrationRow, Parity } from '../../shadow/parity.ts';
import { axis, colour, figureChart, lineStyle, symbolOf } from './chart.ts';

/** One shadow with the data of its charts. */
export interface DrawnShadow {
  readonly name: string;
  readonly all: Parity;
  readonly calibration: readonly CalibrationRow[];
}

/** The mean of fewer first tokens than this is mostly chance. */
const FIRST_TOKENS_MIN = 5;

/** How often the chosen endpoint is among the best one, two, three … of a shadow. */
export function placesChart(drawn: readonly DrawnShadow[]): string {
  return figureChart(
    [
      axis('among the shadow’s best', {
        type: 'category',
        data: (drawn[0]?.all.placed ?? []).map((_, at) => String(at + 1)),
      }),
      axis('of 100 decisions', { min: 0, max: 100 }),
    ],
    drawn.map(({ all }, at) => marked(at, sharesUpTo(all))),
  );
}

/** Observed over predicted times to first token; correct predictions are on the diagonal. */
export function calibrationChart(drawn: readonly DrawnShadow[]): string {
  const points = drawn.map(({ calibration }) =>
    calibration
      .filter(({ firstTokens }) => firstTokens >= FIRST_TOKENS_MIN)
      .map(({ firstTokens, predictedMs, observedMs }): [number, number] => [
        Math.max(0.1, predictedMs / firstTokens),
        Math.max(0.1, observedMs / firstTokens),
      ]),
  );
  const values = points.flat(2);
  const [least, most] = [Math.min(1000, ...values), Math.max(1, ...values)];
  const diagonal = {
    type: 'line',
    showSymbol: false,
    lineStyle: { width: 1, type: 'dotted', color: 'var(--faint)' },
    data: [least, most].map((value) => [value, value]),
  };
  return figureChart(
    [axis('predicted, ms', { type: 'log' }), axis('observed, ms', { type: 'log' })],
    [diagonal, ...points.map((data, at) => marked(at, data))],
  );
}

/** A curve with a symbol at each point. */
function marked(at: number, data: readonly unknown[]): object {
  const itemStyle = { color: colour(at) };
  return {
    type: 'line',
    symbol: symbolOf(at),
    symbolSize: 8,
    lineStyle: lineStyle(at),
    itemStyle,
    data,
  };
}

function sharesUpTo({ placed, decisions }: Parity): number[] {
  let sum = 0;
  return placed.map((each) => {
    sum += each;
    return (100 * sum) / Math.max(1, decisions);
  });
}
