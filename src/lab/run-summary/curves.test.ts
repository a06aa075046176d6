import { expect, it } from 'vitest';
import { answeredResult } from '../../../test/support/answered-result.ts';
import { distribution } from '../report/charts.ts';
import { curvesOf } from './curves.ts';

const servers = [{}];

it('[O488] an answer of one token has no part in the times of further tokens', () => {
  const curves = curvesOf({ requests: [1, 1, 1, 5, 5].map(answeredResult) }, { servers });
  expect(new Set(curves.tpot)).toEqual(new Set([10]));
  expect(curves.ttft).toEqual(Array.from({ length: 101 }, () => 100));
});

it('[O488] where all answers have one token the chart of further tokens is empty', () => {
  const curves = curvesOf({ requests: [1, 1].map(answeredResult) }, { servers });
  const svg = distribution([{ name: 'a', curves }], 'tpot', 'time per output token');
  expect(svg).toContain('time per output token, ms');
  expect(svg).not.toMatch(/NaN|Infinity/);
});
