import { join } from 'node:path';
import { expect, it } from 'vitest';
import { emptyBreakdown } from '../../scorers/predicted-cost/compute-cost.ts';
import { expectSameNames } from '../house/faults.ts';
import { readText } from '../house/source-tree.ts';

const TERMS = Object.keys(emptyBreakdown());

/** The page is plain JavaScript, so that no types come with it. */
const page = (await import(join(import.meta.dirname, '../../ui/terms.js'))) as {
  termsOf(profile: object): readonly { readonly about: string }[];
};

it('[T120] docs/explain.md has a row for each term of the default policy, and for no other', () => {
  const [, after = ''] = readText('docs/explain.md').split('\n| term ');
  const [table = ''] = after.split('\n\n');
  const rows = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name);
  expectSameNames(rows, TERMS, 'the table of terms in docs/explain.md');
});

it.each(TERMS)('[T120] the live page says in words what %s is', (name) => {
  const scorers = [{ scorer: 'predicted-cost-scorer', weight: 1, terms: [name] }];
  const endpoints = [{ endpoint: 'a', terms: [[1]], scores: [1] }];
  const [term] = page.termsOf({ scorers, endpoints });
  expect(term?.about, 'add it to ABOUT of ui/terms.js').not.toBe('');
});
