import { expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../test/makers.ts';
import { assignment } from './assignment.ts';

it('assignment-scorer prefers the request’s class, then those of no class', () => {
  const scorer = assignment.create(assignment.config.parse({}), makeRuntime());
  const pool = makePool([{ labels: { class: 'm' } }, { labels: { class: 'other' } }, {}]);
  expect(scorer.score(pool, makeContext())).toEqual([1, 0, 0.5]);
});
