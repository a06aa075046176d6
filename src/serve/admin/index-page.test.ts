import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { indexPage } from './index-page.ts';

const ACCESS = readFileSync(new URL('../../../docs/access.md', import.meta.url), 'utf8');

it('[O457] says what is at each path that docs/access.md names, in at most 100 columns', () => {
  const paths = [...ACCESS.matchAll(/^\| `(\/debug\/[a-z/]+)`/gm)].map(([, path]) => path ?? '');
  expect(paths.length).toBeGreaterThan(10);
  const lines = indexPage(paths, undefined).body.trimEnd().split('\n').slice(2);
  expect(lines).toHaveLength(paths.length);
  for (const line of lines) {
    expect(line, line).toMatch(/^\/\S+ +\w+ \w+/);
    expect(line.length, line).toBeLessThanOrEqual(100);
  }
});

it('[O457] begins with what people look for, and ends with paths that it has no words for', () => {
  const body = indexPage(['/other', '/debug/live', '/debug/explain', '/ui'], undefined).body;
  expect([...body.matchAll(/^\/\S+/gm)].map(([path]) => path)).toEqual([
    '/ui',
    '/debug/explain',
    '/debug/live',
    '/other',
  ]);
});
