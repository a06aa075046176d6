import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../../../test/makers.ts';
import { PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import {
  type AffinityConfig,
  affinityOutcome,
  prefixCacheAffinityFilter,
} from './prefix-cache-affinity.ts';

const pool = makePool([{}, {}, {}]);

function kept(
  parameters: object,
  matchedBlocks: readonly number[],
  pending: readonly number[] = [],
  requests: readonly number[] = [],
): readonly number[] {
  const { config, create } = prefixCacheAffinityFilter;
  const filter = create(config.parse(parameters), makeRuntime());
  const load = pending.map((pendingPrefillTokens, at) => ({
    pendingPrefillTokens,
    requests: requests[at] ?? 0,
  }));
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

  it('keeps all when the holders have too many more requests, unless the others take too long', () => {
    const parameters = {
      maxInFlightRequestsDelta: 4,
      peakPrefillThroughput: 1000,
      maxTTFTPenaltyMs: 700,
      penaltySource: 'constant',
    };
    // The prompt of 640 tokens takes 640 ms more where none of it is cached.
    expect(kept(parameters, [10, 0, 0], [0, 0, 0], [5, 1, 1])).toEqual([0]);
    expect(kept(parameters, [10, 0, 0], [0, 0, 0], [6, 1, 1])).toEqual([0, 1, 2]);
    expect(kept(parameters, [10, 0, 0], [0, 100, 100], [6, 1, 1])).toEqual([0]);
  });

  it('[D323] compares the times that the model of engines predicts where the configuration asks for a predictor', () => {
    // Two seconds pass for the uncached prompt of 640 tokens, and 10 for the backlog of the slow
    // one.
    const quick = { ...PRIOR_STEP_TIME, baseMs: 0, perPrefillTokenMs: 1 };
    const slow = { ...quick, perPrefillTokenMs: 10 };
    const keptBy = (maxTTFTPenaltyMs: number, ttftSource: string): readonly number[] => {
      const { config, create } = prefixCacheAffinityFilter;
      const filter = create(config.parse({ ttftSource, maxTTFTPenaltyMs }), makeRuntime());
      const load = [1000, 0, 0].map((pendingPrefillTokens) => ({
        pendingPrefillTokens,
        requests: 0,
      }));
      const stepTimes = [slow, quick, quick];
      const context = makeContext({ matchedBlocks: [10, 0, 0], load, stepTimes });
      return filter.filter(pool, context).map(({ slot }) => slot);
    };
    expect(keptBy(5000, 'prefillThroughput')).toEqual([0]);
    expect(keptBy(5000, 'latencyPredictor')).toEqual([0, 1, 2]);
    expect(keptBy(20_000, 'latencyPredictor')).toEqual([0]);
  });

  it.each<[string, object, readonly number[], readonly number[], number]>([
    ['sticky', {}, [10, 0, 0], [], 3],
    ['sticky', {}, [10, 10, 10], [], 3],
    ['no_match', {}, [7, 0, 0], [], 3],
    ['load_override', { peakPrefillThroughput: 1 }, [10, 0, 0], [100, 0, 0], 3],
    ['exploration', { explorationProbability: 1 }, [10, 0, 0], [], 3],
    ['not_applicable', {}, [10], [], 1],
    ['not_applicable', { affinityThreshold: 0 }, [10, 0, 0], [], 3],
  ])('[D309] says that it decided %s with %j', (wanted, parameters, matched, pending, count) => {
    const { config, create } = prefixCacheAffinityFilter;
    const parsed = config.parse(parameters);
    const load = pending.map((tokens) => ({ pendingPrefillTokens: tokens, requests: 0 }));
    const context = makeContext({ matchedBlocks: matched, load });
    const endpoints = pool.slice(0, count);
    const left = create(parsed, makeRuntime()).filter(endpoints, context);
    expect(affinityOutcome(parsed as AffinityConfig, { endpoints, kept: left }, context)).toBe(
      wanted,
    );
  });

  it('refuses what could not be computed', () => {
    const { config } = prefixCacheAffinityFilter;
    const parsing = (given: object) => () => config.parse(given);
    expect(parsing({ maxInFlightRequestsDelta: 1, maxTTFTPenaltyMs: 0 })).toThrow('above 0');
    expect(parsing({ peakPrefillThroughput: 0 })).toThrow('above 0');
    expect(parsing({ peakPrefillThroughput: 0, maxTTFTPenaltyMs: 0 })).not.toThrow();
    expect(parsing({ penaltySource: 'sessionCost' })).toThrow('has one penalty here');
  });

  it('explores when configured to', () => {
    expect(kept({ explorationProbability: 1 }, [10, 0, 0])).toEqual([0, 1, 2]);
  });
});
