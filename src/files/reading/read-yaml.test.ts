import { describe, expect, it, vi } from 'vitest';
import { readYaml, yamlLibrary } from './read-yaml.ts';

it('[V295] stops at a hundred errors, and shows the first', () => {
  const broken = (lines: number): string => '- "\\q"\n'.repeat(lines);
  const first = 'line 1, column 4: Invalid escape sequence \\q';
  expect(() => readYaml(broken(2), 'a')).toThrow(`${first} (and 1 more error behind it)`);
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

describe('[V619] a map', () => {
  const keys = (count: number): string =>
    Array.from({ length: count }, (_, at) => `k${at}: 1\n`).join('');

  it('may have so many keys that each cannot be compared with each other', () => {
    expect(Object.keys(readYaml(keys(20_000), 'a') as object)).toHaveLength(20_000);
  });

  it.each([
    ['a: 1\nb: {c: 1, d: {}, c: 2}\n', 'line 2, column 18: Map keys must be unique'],
    [`a: 1\n${keys(300)}a: 2\n`, 'line 302, column 1: Map keys must be unique'],
    [
      `${keys(300)}${keys(300)}`,
      'line 301, column 1: Map keys must be unique (and at least 100 more errors behind it)',
    ],
  ])('may not have a key twice', (text, message) => {
    expect(() => readYaml(text, 'a')).toThrow(message);
  });
});

describe('[D563] a small text', () => {
  it.each([
    ['lists', 5000, '['],
    ['maps', 5000, '{a: '],
    ['lists', 100_000, '['],
  ])('of nested %s, %i of them, is refused with the bound', (_what, levels, open) => {
    expect(() => readYaml(`a: ${open.repeat(levels)}`, 'a')).toThrow('deeper than 200 levels');
  });

  it.each(['[', '- ', '{a: ', 'a: '])(
    '[V621] of "%s" again and again is read no further than to the bound',
    (open) => {
      const next = vi.spyOn(yamlLibrary().Parser.prototype, 'next');
      expect(() => readYaml(open.repeat(10_000), 'a')).toThrow('deeper than 200 levels');
      expect(next.mock.calls.length).toBeLessThan(2000);
      next.mockRestore();
    },
  );

  it('may nest two hundred levels', () => {
    expect(readYaml(`${'['.repeat(200)}${']'.repeat(200)}`, 'a')).toHaveLength(1);
  });

  it('may use an anchor hundreds of times', () => {
    const uses = Array.from({ length: 500 }, () => '- *a').join('\n');
    expect(readYaml(`- &a b\n${uses}\n`, 'a')).toHaveLength(501);
  });

  it('may not stand for a huge value', () => {
    const level = (name: string, of: string): string =>
      `${name}: &${name} [${Array(10).fill(of).join()}]`;
    const names = ['b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const bomb = names.map((name, at) => level(name, at === 0 ? 'x' : `*${names[at - 1]}`));
    expect(() => readYaml(bomb.join('\n'), 'a')).toThrow(/more than 1000 times/);
    const wide = `a: &a [${Array(2000).fill('x').join()}]\nb: [${Array(900).fill('*a').join()}]\n`;
    expect(() => readYaml(wide, 'a')).toThrow('has more than 1000000 values');
  });

  it('may not contain itself', () => {
    expect(() => readYaml('a: &a {b: *a}\n', 'a')).toThrow('that contains it');
  });
});

it.each([
  ['parameters: {{ .Values.parameters }}', 14],
  ['a: {[1]: 2}', 5],
])('[D630] refuses a map or a list as a key, as of a template: %s', (line, column) => {
  const message = `a:\n  line 2, column ${column}: a key must be a text, and this is a map or a list; where`;
  expect(() => readYaml(`b: 1\n${line}\n`, 'a')).toThrow(message);
});
