import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRouted, makeRuntime } from '../../test/makers.ts';
import { virtualTokens } from './virtual-tokens.ts';

describe('virtual-tokens-scorer', () => {
  const pool = makePool([{}, {}]);
  const [first] = pool;
  if (first === undefined) throw new Error('no endpoint');
  const tenant = (fairnessId: string): ReturnType<typeof makeRequest> =>
    makeRequest({ fairnessId, promptTokens: 99 });

  it('sends a tenant where it has been served less, prompt tokens once and answers twice', () => {
    const scorer = virtualTokens.create(virtualTokens.config.parse({}), makeRuntime());
    const score = (name: string): readonly number[] =>
      scorer.score(pool, makeContext({ request: tenant(name) }));
    const routed = makeRouted(first, { request: tenant('a') });
    scorer.onRouted?.(routed);
    expect(score('a')).toEqual([0.01, 1]);
    const usage = { promptTokens: 99, completionTokens: 50, cachedTokens: 0 };
    scorer.onDone?.(routed, 0, 'completed', usage);
    expect(score('a')).toEqual([0.005, 1]);
    expect(score('b')).toEqual([1, 1]);
    scorer.onEndpointRemoved?.(first);
    expect(score('a')).toEqual([1, 1]);
  });
});
