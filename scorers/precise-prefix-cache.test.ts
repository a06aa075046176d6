import { describe, expect, it } from 'vitest';
import { PRECISE_PREFIX_PRODUCER, prefixMatchKey } from '../src/framework/cycle-facts.ts';
import { makeContext, makePool, makeRuntime } from '../test/makers.ts';
import { precisePrefixCache } from './precise-prefix-cache.ts';

describe('precise-prefix-cache-scorer', () => {
  const config = precisePrefixCache.config.parse({ speculativeIndexing: true });
  const scorer = precisePrefixCache.create(config, makeRuntime());
  const needs = new Set([prefixMatchKey(PRECISE_PREFIX_PRODUCER).name]);

  it('scores the share of the prompt that the engine says it holds', () => {
    const context = makeContext({ matchedBlocks: [0, 5, 10], totalBlocks: 10, needs });
    expect(scorer.score(makePool([{}, {}, {}]), context)).toEqual([0, 0.5, 1]);
  });

  it('scores nothing for a prompt too short to have a block', () => {
    const context = makeContext({ matchedBlocks: [0, 0], totalBlocks: 0, needs });
    expect(scorer.score(makePool([{}, {}]), context)).toEqual([0, 0]);
  });
});
