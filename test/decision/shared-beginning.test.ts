import { expect, it } from 'vitest';
import { exponential, logNormal } from '../../bench/scenarios/arrivals.ts';
import { presetServer } from '../../bench/scenarios/pools.ts';
import { createPicker } from '../../src/index.ts';
import { summarize } from '../../src/lab/run-summary/summarize.ts';
import { uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { simulate } from '../../src/lab/simulate/simulate.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';

const BLOCK_TOKENS = 64;
const SHARED_BLOCKS = 125;
const SEED = 1;

/** Prompts of the same 8,000 tokens and about 60 of their own. */
function workload() {
  const random = seededRandom(SEED).fork('shared beginning');
  let atMs = 0;
  const requests = Array.from({ length: 1000 }, (_, number) => {
    atMs += exponential(random, 12);
    const promptTokens = SHARED_BLOCKS * BLOCK_TOKENS + Math.round(logNormal(random, 60, 0.5));
    const blocks = Math.floor(promptTokens / BLOCK_TOKENS);
    const own = (block: number): number => -(1 + 1000 * number + block);
    const blockIds = Array.from({ length: blocks }, (_, block) =>
      block < SHARED_BLOCKS ? 1 + block : own(block),
    );
    const outputTokens = Math.max(1, Math.round(logNormal(random, 60, 0.7)));
    return { atMs, model: 'm', promptTokens, outputTokens, blockIds };
  });
  return { blockTokens: BLOCK_TOKENS, requests };
}

it(`[Q256] a beginning that all prompts have comes to all servers, seed ${SEED}`, () => {
  const pool = uniformPool(8, presetServer('llama-3.1-8b-h100'));
  const meanMs = (config: string): number =>
    summarize(simulate({ workload: workload(), pool, config, createPicker, seed: SEED }))
      .ttftMeanMs;
  expect(meanMs('default') / meanMs('round-robin')).toBeLessThan(1.05);
});
