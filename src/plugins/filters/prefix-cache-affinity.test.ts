import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../../../test/makers.ts';
import { prefixCacheAffinityFilter } from './prefix-cache-affinity.ts';

const pool = makePool([{}, {}, {}]);

function kept(
  parameters: object,
  matchedBlocks: readonly number[],
  pending: readonly number[] = [],
): readonly number[] {
  const { config, create } = prefixCacheAffinityFilter;
  const filter = create(config.parse(parameters), makeRuntime());
  const load = pending.map((pendingPrefillTokens) => ({ pendingPrefillTokens }));
  return filter.filter(pool, makeContext({ matchedBlocks, load })).map(({ slot }) => slot);
}

describe('prefix-cache-affinity-filter', () => {
  it('keeps those that hold at least four fifths of the prompt, and all where none does', () => {
    expect(kept({}, [8, 7, 10])).toEqual([0, 2]);
    expect(kept({}, [7, 7, 0])).toEqual([0, 1, 2]);
  });

  it('keeps all when the best holder would answer too much later than the best of the rest', () => {
    const parameters = { peakPrefillThroughput: 1000, maxTTFTPenaltyMs: 2000 };
    expect(kept(parameters, [10, 0, 0], [2500, 600, 500])).toEqual([0]);
    expect(kept(parameters, [10, 0, 0], [2501, 600, 500])).toEqual([0, 1, 2]);
  });

  it('explores when configured to', () => {
    expect(kept({ explorationProbability: 1 }, [10, 0, 0])).toEqual([0, 1, 2]);
  });
});
