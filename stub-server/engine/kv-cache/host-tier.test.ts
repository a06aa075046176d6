import { describe, expect, test } from 'vitest';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { EngineStats } from '../../metrics/engine-stats.ts';
import { Engine } from '../engine.ts';
import { LORA_DEFAULTS } from '../lora-slots.ts';
import type { ModelEngine } from '../model-engine.ts';
import { TimedEngine } from '../timed-engine.ts';
import { NO_TIME } from '../timings.ts';
import type { HostTierOptions } from './host-tier.ts';

/** Blocks of 10 tokens; a token of KV takes half a millisecond from the host. */
const HOST: HostTierOptions = {
  blocks: 1000,
  gigabytesPerSecond: 1,
  setupMs: 5,
  bytesPerToken: 500_000,
};
const BLOCK_TOKENS = 10;
const PROMPT_TOKENS = 101;

interface SetUp {
  readonly clock: SimulatedClock;
  readonly stats: EngineStats;
  readonly engine: ModelEngine;
}

const shared = (host: Partial<HostTierOptions>) => {
  const clock = new SimulatedClock();
  const stats = new EngineStats();
  const hostTier = { ...HOST, ...host };
  const sizes = { kvBlocks: 11, blockTokens: BLOCK_TOKENS, sequencesMax: 4 };
  return { clock, stats, observer: stats, hostTier, ...sizes };
};

/** Steps of a millisecond per token of prompt. */
function ofSteps(host: Partial<HostTierOptions> = {}): SetUp {
  const parts = shared(host);
  const latency = ({ prefillTokens }: { prefillTokens: number }): number => prefillTokens;
  return {
    ...parts,
    engine: new Engine({ ...parts, latency, batchedTokensMax: 999, admissionMs: 0 }),
  };
}

function ofTimes(host: Partial<HostTierOptions> = {}): SetUp {
  const parts = shared(host);
  const timings = { ...NO_TIME, calculator: 'per-token' as const, prefillPerTokenMs: 1 };
  const random = { next: () => 0.5, fork: () => random };
  const engine = new TimedEngine({
    ...parts,
    random,
    timings: () => ({ ...timings, transferPerTokenMs: 1000 }),
    policy: 'fcfs',
    loras: LORA_DEFAULTS,
  });
  return { ...parts, engine };
}

/** Serves a prompt of ten whole blocks; equal names are equal prompts. */
function serve({ engine, clock }: SetUp, name: number): { cachedTokens: number; ms: number } {
  const blockHashes = Array.from({ length: 10 }, (_, index) => 1000 * name + index);
  const begunAt = clock.now();
  const served = { cachedTokens: -1, ms: -1 };
  engine.submit({
    promptTokens: PROMPT_TOKENS,
    outputTokens: 1,
    blockHashes,
    onDone: (_reason, { cachedTokens }, at) =>
      Object.assign(served, { cachedTokens, ms: at - begunAt }),
  });
  while (clock.step()) continue;
  return served;
}

describe.each([
  ['steps', ofSteps],
  ['fixed times', ofTimes],
])('host memory behind an engine of %s', (_, setUp) => {
  test('[B28] gives back what the accelerator has evicted, for the time of its transfer', () => {
    const up = setUp();
    expect(serve(up, 1)).toEqual({ cachedTokens: 0, ms: 101 });
    expect(serve(up, 2)).toEqual({ cachedTokens: 0, ms: 101 });
    // Setup, 100 tokens of KV, and one token to compute.
    expect(serve(up, 1)).toEqual({ cachedTokens: 100, ms: 5 + 50 + 1 });
    expect(serve(up, 1)).toEqual({ cachedTokens: 100, ms: 1 });
    expect(up.stats).toMatchObject({ transferredPromptTokens: 100, cachedPromptTokens: 100 });
    expect(up.engine.kv.host).toMatchObject({
      lookups: 30,
      hits: 10,
      loads: { bytes: 50_000_000, spentMs: 55, transfers: 1 },
      stores: { bytes: 100_000_000, transfers: 2 },
    });
  });

  test('[B28] keeps the blocks that were used last', () => {
    const up = setUp({ blocks: 25 });
    for (const name of [1, 2, 1, 3]) serve(up, name);
    expect(up.engine.kv.host).toMatchObject({ usage: 1, evictions: 5 });
    expect(serve(up, 1).cachedTokens).toBe(100);
    // The first five blocks of prompt 2 have left, and what follows them is of no use.
    expect(serve(up, 2).cachedTokens).toBe(0);
  });

  test('[B28] is lost in a crash, stays at a reset of the prefix cache, and leaves with it if asked', () => {
    const up = setUp();
    serve(up, 1);
    up.engine.resetPrefixCache();
    expect(serve(up, 1)).toMatchObject({ cachedTokens: 100, ms: 56 });
    up.engine.resetPrefixCache({ host: true });
    expect(serve(up, 1).cachedTokens).toBe(0);
    up.engine.crash();
    expect(serve(up, 1).cachedTokens).toBe(0);
  });
});

test('[B28] others compute while blocks are loaded', () => {
  const { engine, clock } = ofSteps();
  const up = { engine, clock, stats: new EngineStats() };
  for (const name of [1, 2, 3]) serve(up, name);
  const doneAt: number[] = [];
  const begunAt = clock.now();
  for (const name of [1, 4]) {
    const blockHashes = Array.from({ length: 4 }, (_, index) => 1000 * name + index);
    engine.submit({
      promptTokens: 41,
      outputTokens: 1,
      blockHashes,
      onDone: (_reason, _usage, at) => doneAt.push(at - begunAt),
    });
  }
  while (clock.step()) continue;
  // The second one begins at once, and the first when it is here, with one token to compute.
  expect(doneAt).toEqual([41, 42]);
});
