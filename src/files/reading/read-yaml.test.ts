import { expect, it } from 'vitest';
import { readYaml } from './read-yaml.ts';

it('[V295] stops at a hundred errors, and shows the first', () => {
  const broken = (lines: number): string => '- "\\q"\n'.repeat(lines);
  const first = 'line 1, column 4: Invalid escape sequence \\q';
  expect(() => readYaml(broken(50), 'a')).toThrow(`${first} (and 49 more errors behind it)`);
  expect(() => readYaml(broken(5000), 'a')).toThrow(
    `${first} (and at least 100 more errors behind it)`,
  );
});

it('[O278] says of UTF-16, which Windows writes, what it is', () => {
  const text = Buffer.from('\ufeffa: 1\n', 'utf16le').toString('utf8');
  expect(() => readYaml(text, 'mine.yaml')).toThrow(
    /^mine\.yaml:\n {2}file: .* UTF-16 .* as UTF-8$/,
  );
});

it('[D395] merges what << names, whose fields count after those that are written', () => {
  const text = 'a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}\nc: [{<<: [{z: 3}, *a]}]\n';
  expect(readYaml(text, 'a')).toEqual({
    a: { x: 1, y: 1 },
    b: { x: 1, y: 2 },
    c: [{ x: 1, y: 1, z: 3 }],
  });
});

it('[V295] takes an error of the first document only, and a second document for one', () => {
  expect(readYaml('a: 1\n---\n', 'a')).toEqual({ a: 1 });
  expect(readYaml('', 'a')).toBe(null);
  expect(() => readYaml('a: 1\n---\nb: 2\n', 'a')).toThrow('begins another document');
  expect(() => readYaml('a: [1\n', 'a')).toThrow(/line \d/);
});
