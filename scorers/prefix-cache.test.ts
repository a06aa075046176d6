import { describe, expect, it } from 'vitest';
import { prefixMatchKey } from '../src/framework/cycle-facts.ts';
import { type ContextFields, makeContext, makePool, makeRuntime } from '../test/makers.ts';
import { prefixCache } from './prefix-cache.ts';

function scoresOf(parameters: unknown, fields: ContextFields): readonly number[] {
  const scorer = prefixCache.create(prefixCache.config.parse(parameters), makeRuntime());
  const pool = makePool((fields.matchedBlocks ?? []).map(() => ({})));
  return scorer.score(pool, makeContext(fields));
}

describe('prefix-cache-scorer', () => {
  it('scores the share of the prompt that is cached', () => {
    expect(scoresOf({}, { matchedBlocks: [0, 5, 10], totalBlocks: 10 })).toEqual([0, 0.5, 1]);
  });

  it('weighs the length of the match by its square, up to the scale', () => {
    const parameters = { matchLengthWeight: 0.5, matchLengthScaleTokens: 640 };
    // 5 blocks of 64 tokens are half the scale; 20 are twice it.
    expect(scoresOf(parameters, { matchedBlocks: [5, 20], totalBlocks: 20 })).toEqual([
      0.5 * 0.5 ** 2 + 0.5 * 0.25,
      1,
    ]);
  });

  it('needs a scale only where the length counts', () => {
    const fields = { matchedBlocks: [5], totalBlocks: 10 };
    expect(scoresOf({ matchLengthScaleTokens: 0 }, fields)).toEqual([0.5]);
    const given = { matchLengthWeight: 0.5, matchLengthScaleTokens: 0 };
    expect(() => prefixCache.config.parse(given)).toThrow('must be above 0');
  });

  it('scores nothing for a prompt too short to have a block', () => {
    expect(scoresOf({}, { matchedBlocks: [0, 0], totalBlocks: 0 })).toEqual([0, 0]);
  });

  it('reads the producer it names', () => {
    const config = prefixCache.config.parse({ prefixMatchInfoProducerName: 'cpu-tier' });
    expect(prefixCache.needs?.(config)).toEqual([prefixMatchKey('cpu-tier')]);
    const needs = new Set([prefixMatchKey('cpu-tier').name]);
    const fields = { matchedBlocks: [10], totalBlocks: 10, needs };
    expect(scoresOf({ prefixMatchInfoProducerName: 'cpu-tier' }, fields)).toEqual([1]);
  });
});
