import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../test/makers.ts';
import { loadAware } from './load-aware.ts';

function scoresOf(parameters: unknown, waiting: readonly number[]): readonly number[] {
  const scorer = loadAware.create(loadAware.config.parse(parameters), makeRuntime());
  return scorer.score(makePool(waiting.map((each) => ({ waiting: each }))), makeContext());
}

describe('load-aware-scorer', () => {
  it('falls from a half at an empty queue to nothing at 128 waiting', () => {
    expect(scoresOf({}, [0, 32, 64, 128, 500])).toEqual([0.5, 0.375, 0.25, 0, 0]);
  });

  it('takes another threshold', () => {
    expect(scoresOf({ threshold: 10 }, [5, 10])).toEqual([0.25, 0]);
  });

  it('[D156] reads a threshold of zero or below as none', () => {
    expect(scoresOf({ threshold: 0 }, [64])).toEqual([0.25]);
    expect(scoresOf({ threshold: -3 }, [64])).toEqual([0.25]);
  });
});
