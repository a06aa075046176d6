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

it('[V295] takes an error of the first document only, and a second document for one', () => {
  expect(readYaml('a: 1\n---\n', 'a')).toEqual({ a: 1 });
  expect(readYaml('', 'a')).toBe(null);
  expect(() => readYaml('a: 1\n---\nb: 2\n', 'a')).toThrow('begins another document');
  expect(() => readYaml('a: [1\n', 'a')).toThrow(/line \d/);
});
