import { expect, it } from 'vitest';
import { tableWithin, textTable } from './text-table.ts';

const ROWS = [
  ['', 'endpoint', 'total', 'queue-scorer×2', 'kv-cache-utilization-scorer×2'],
  ['→', 'pod-a', '1', '1', '0.5'],
  ['', 'pod-b', '0.2', '0', '0.25'],
];

it('[O409] cuts a table that is too wide into parts, each with the first columns', () => {
  expect(textTable(ROWS, 2, 40)).toEqual([
    '     endpoint  total  queue-scorer×2',
    '  →  pod-a         1               1',
    '     pod-b       0.2               0',
    '',
    '     endpoint  kv-cache-utilization-scorer×2',
    '  →  pod-a                               0.5',
    '     pod-b                              0.25',
  ]);
});

it('[O409] leaves a table whole where no width is given, and where it fits', () => {
  const whole = textTable(ROWS, 2);
  expect(whole).toHaveLength(ROWS.length);
  const widest = Math.max(...whole.map((line) => line.length));
  expect(textTable(ROWS, 2, widest)).toEqual(whole);
  expect(textTable(ROWS, 2, widest - 1).length).toBeGreaterThan(ROWS.length);
});

it('[O409] keeps as many first columns in each part as the caller asks for', () => {
  const lines = tableWithin(ROWS, 30, 2).split('\n');
  expect(lines.filter((line) => line.includes('endpoint')).length).toBeGreaterThan(1);
  for (const line of lines.filter((each) => each.includes('pod-a'))) expect(line).toMatch(/^→/);
});
