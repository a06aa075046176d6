import { expect, it } from 'vitest';
import { distribution } from '../report/charts.ts';
import { curvesOf } from './curves.ts';
import type { RequestResult } from './run-result.ts';

const servers = [{}];

/** A request whose first token comes after 100 ms and each further one 10 ms later. */
function answered(outputTokens: number): RequestResult {
  return {
    request: { atMs: 0, promptTokens: 64, outputTokens },
    server: 0,
    attempts: 1,
    ttftMs: 100,
    e2eMs: 100 + 10 * (outputTokens - 1),
    cachedTokens: 0,
    completed: true,
  };
}

it('[O488] an answer of one token has no part in the times of further tokens', () => {
  const curves = curvesOf({ requests: [1, 1, 1, 5, 5].map(answered) }, { servers });
  expect(new Set(curves.tpot)).toEqual(new Set([10]));
  expect(curves.ttft).toEqual(Array.from({ length: 101 }, () => 100));
});

it('[O488] where all answers have one token the chart of further tokens is empty', () => {
  const curves = curvesOf({ requests: [1, 1].map(answered) }, { servers });
  const svg = distribution([{ name: 'a', curves }], 'tpot', 'time per output token');
  expect(svg).toContain('time per output token, ms');
  expect(svg).not.toMatch(/NaN|Infinity/);
});
