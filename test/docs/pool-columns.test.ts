import { join } from 'node:path';
import { expect, it } from 'vitest';
import { poolLines } from '../../src/commands/output/top-pool.ts';
import type { LiveEndpoint } from '../../src/serve/live/live-message.ts';
import { expectSameNames } from '../house/faults.ts';
import { readText } from '../house/source-tree.ts';

/** With a role: the column of roles is left out where no endpoint has one. */
const ROW: LiveEndpoint = {
  id: 'a',
  address: 'a:1',
  role: 'decode',
  inFlight: 0,
  prefillTokens: 0,
  sample: null,
  hitRate: null,
  state: 'ok',
};
/** The page is plain JavaScript, so that no types come with it. */
const page = (await import(join(import.meta.dirname, '../../ui/pool-columns.js'))) as {
  isOld(row: LiveEndpoint): boolean;
  columnsOf(rows: readonly LiveEndpoint[]): readonly { readonly name: string }[];
};
const COLUMNS = page.columnsOf([ROW]).map(({ name }) => name);

it('[O506] the live page shows numbers as old where the sample of an ejected endpoint is', () => {
  const ejected = (ageMs: number): LiveEndpoint => ({
    ...ROW,
    state: 'ejected',
    sample: { ageMs, running: 8, waiting: 1, kv: 0.3 },
  });
  expect(page.isOld(ejected(20_000))).toBe(true);
  expect(page.isOld(ejected(50))).toBe(false);
  expect(page.isOld({ ...ROW, state: 'ejected' })).toBe(false);
});

it('[T124] docs/live-page.md has a row for each column of the pool, in their order', () => {
  const [, after = ''] = readText('docs/live-page.md').split('\n## The columns of the pool\n');
  const [text = ''] = after.split('\n## ');
  const [, ...rows] = [...text.matchAll(/^\| (\w[\w ]*?) +\|/gm)].map(([, name = '']) => name);
  expectSameNames(rows, COLUMNS, 'the table of columns in docs/live-page.md');
  expect(rows, 'the order of the live page').toEqual(COLUMNS);
});

it('[T124] `pointsman top` has the columns of the live page, in their order', () => {
  const [heads = ''] = poolLines([ROW], (id) => id, 500);
  const names = heads.trim().split(/ {2,}/);
  expect(names.map((name) => name.toLowerCase())).toEqual(
    COLUMNS.map((name) => name.toLowerCase()),
  );
});
