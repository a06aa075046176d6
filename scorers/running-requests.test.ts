import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime, NEVER } from '../test/makers.ts';
import { runningRequests } from './running-requests.ts';

const scorer = runningRequests.create(runningRequests.config.parse({}), makeRuntime());

describe('running-requests-size-scorer', () => {
  it('scales from the fullest batch to the emptiest', () => {
    const pool = makePool([{ running: 8 }, { running: 0 }, { running: 2 }]);
    expect(scorer.score(pool, makeContext())).toEqual([0, 1, 0.75]);
  });

  it('does not look at the queue', () => {
    const pool = makePool([{ running: 1, waiting: 50 }, { running: 1 }]);
    expect(scorer.score(pool, makeContext())).toEqual([1, 1]);
  });

  it('does not take an endpoint never scraped for an idle one', () => {
    const pool = makePool([{ running: 9 }, { sampledAt: NEVER }]);
    expect(scorer.score(pool, makeContext())).toEqual([1, 0]);
  });
});
