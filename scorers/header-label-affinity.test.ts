import { expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../test/makers.ts';
import { headerLabelAffinity } from './header-label-affinity.ts';

const pool = makePool([{ labels: { tier: 'gold' } }, { labels: { tier: 'tin' } }, {}]);
const scorer = headerLabelAffinity.create(
  headerLabelAffinity.config.parse({ headerName: 'X-Tier', labelKey: 'tier' }),
  makeRuntime(),
);

it.each([
  ['gold', [1, 0, 0]],
  ['lead', [0, 0, 0]],
  ['', [0, 0, 0]],
  [undefined, [0, 0, 0]],
])('header-label-affinity-scorer prefers for the header “%s” %j', (value, wanted) => {
  const headers = new Map(value === undefined ? [] : [['x-tier', value]]);
  const context = makeContext({ request: makeRequest({ headers }) });
  expect(scorer.score(pool, context)).toEqual(wanted);
});
