import { expect, it } from 'vitest';
import { withLines } from './yaml-lines.ts';

const TEXT = `# Ours
endpoints:
- name: a
  labels: {zone: x, llm-d.ai/role: both}
- {name: b}
- *a
objectives:
  a.b: 1
  a: 2
`;

it.each([
  ['endpoints[0].labels.zone', 'line 4, column 12'],
  ['endpoints[0].labels.llm-d.ai/role', 'line 4, column 21'],
  ['endpoints[1].name', 'line 5, column 4'],
  // What is missing is in no line: that of what it is missing in.
  ['endpoints[1].port', 'line 5, column 3'],
  ['endpoints[9]', 'line 2, column 1'],
  ['endpoints[2].name', 'line 6, column 3'],
  ['objectives.a.b', 'line 8, column 3'],
  ['objectives.a', 'line 9, column 3'],
  ['(top level)', 'line 2, column 1'],
])('[G306] %s is in %s', (path, place) => {
  expect(withLines(TEXT, [{ path, message: 'm' }])).toEqual([
    { path: `${place}: ${path}`, message: 'm' },
  ]);
});

it('[G306] an empty text has a first line', () => {
  const path = 'endpoints';
  expect(withLines('', [{ path, message: 'm' }])).toEqual([
    { path: `line 1, column 1: ${path}`, message: 'm' },
  ]);
});

it('[G306] JSON on one line has columns', () => {
  expect(withLines('{"a": [{"b": 1}]}', [{ path: 'a[0].b', message: 'm' }])).toEqual([
    { path: 'line 1, column 9: a[0].b', message: 'm' },
  ]);
});
