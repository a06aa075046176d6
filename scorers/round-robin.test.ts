import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { makeContext, makePool, makeRouted, makeRuntime } from '../test/makers.ts';
import { roundRobin } from './round-robin.ts';

function create(): ReturnType<typeof roundRobin.create> {
  return roundRobin.create(roundRobin.config.parse({}), makeRuntime());
}

describe('round-robin-scorer', () => {
  it('goes round the pool', () => {
    const scorer = create();
    const pool = makePool([{}, {}, {}]);
    const turns: string[] = [];
    for (let turn = 0; turn < 9; turn++) {
      const scores = scorer.score(pool, makeContext());
      const chosen = pool[scores.indexOf(1)] as Endpoint;
      turns.push(chosen.id);
      scorer.onRouted?.(makeRouted(chosen));
    }
    const round = ['pod-0', 'pod-1', 'pod-2'];
    expect(turns).toEqual([...round, ...round, ...round]);
  });

  it('begins with an endpoint that has just come', () => {
    const scorer = create();
    const [old, later] = makePool([{}, {}]) as readonly [Endpoint, Endpoint];
    scorer.onRouted?.(makeRouted(old));
    expect(scorer.score([old, later], makeContext())).toEqual([0, 1]);
  });

  it('keeps its place when the subset changes', () => {
    const scorer = create();
    const pool = makePool([{}, {}, {}]);
    for (const endpoint of pool) scorer.onRouted?.(makeRouted(endpoint));
    expect(scorer.score(pool.slice(1), makeContext())).toEqual([1, 0]);
  });
});
