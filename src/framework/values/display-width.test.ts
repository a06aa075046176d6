import { expect, it } from 'vitest';
import { displayWidth } from './display-width.ts';
import { alignedTable } from './text-table.ts';

it.each([
  ['plain-name', 10],
  ['模型/文心', 9],
  ['🦙🔥-llama', 10],
  ['🇩🇪', 2],
  ['👩‍🔬', 2],
  ['e\u0301', 1],
  ['מודל', 4],
  ['', 0],
])('[O475] %s takes %i columns of a terminal', (text, columns) => {
  expect(displayWidth(text)).toBe(columns);
});

it('[O475] columns of a table begin below each other after any name', () => {
  const rows = [
    ['model', 'n'],
    ['模型', '1'],
    ['llama', '22'],
  ];
  expect(alignedTable(rows, 1)).toBe('model   n\n模型    1\nllama  22\n');
});
