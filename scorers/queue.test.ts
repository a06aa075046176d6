import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime, NEVER, NOW } from '../test/makers.ts';
import { queue } from './queue.ts';

const scorer = queue.create(queue.config.parse({}), makeRuntime());

describe('queue-scorer', () => {
  it('scales from the longest queue to the shortest', () => {
    const pool = makePool([{ waiting: 2 }, { waiting: 10 }, { waiting: 4 }]);
    expect(scorer.score(pool, makeContext())).toEqual([1, 0, 0.75]);
  });

  it('gives all endpoints one score where their queues are equal', () => {
    const pool = makePool([{ waiting: 5 }, { waiting: 5 }]);
    expect(scorer.score(pool, makeContext())).toEqual([1, 1]);
  });

  it('scales over the endpoints with a sample, and gives the others 0', () => {
    const pool = makePool([
      { waiting: 2 },
      { waiting: 0, sampledAt: NEVER },
      { waiting: 10 },
      { waiting: 0, sampledAt: NOW - 2001 },
    ]);
    expect(scorer.score(pool, makeContext())).toEqual([1, 0, 0, 0]);
  });

  it('gives all the same score when none has a sample', () => {
    const pool = makePool([{ sampledAt: NEVER }, { waiting: 3, sampledAt: NOW - 2001 }]);
    expect(scorer.score(pool, makeContext())).toEqual([1, 1]);
  });
});
