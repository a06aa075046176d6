import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { EngineStats } from '../metrics/engine-stats.ts';
import { Engine } from './engine.ts';
import type { QueuePolicy } from './engine-queue.ts';
import { LORA_DEFAULTS } from './lora-slots.ts';
import type { ModelEngine } from './model-engine.ts';
import { TimedEngine } from './timed-engine.ts';
import { NO_TIME } from './timings.ts';

const BLOCKS = 4;
const BLOCK_TOKENS = 16;

const sizesOf = (clock: SimulatedClock, policy: QueuePolicy) => ({
  clock,
  policy,
  observer: new EngineStats(),
  kvBlocks: BLOCKS,
  blockTokens: BLOCK_TOKENS,
  sequencesMax: 2,
  loras: LORA_DEFAULTS,
});

const ENGINES: Record<string, (clock: SimulatedClock, policy: QueuePolicy) => ModelEngine> = {
  steps: (clock, policy) =>
    new Engine({
      ...sizesOf(clock, policy),
      latency: () => 1,
      batchedTokensMax: 999,
      admissionMs: 0,
    }),
  'fixed times': (clock, policy) =>
    new TimedEngine({
      ...sizesOf(clock, policy),
      random: {
        next: () => 0.5,
        fork: () => ({ next: () => 0.5, fork: () => undefined as never }),
      },
      timings: () => ({ ...NO_TIME, firstTokenMs: 2, interTokenMs: 1 }),
    }),
};

interface Asked {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Undefined where its KV is computed here. */
  readonly transferMs: number | undefined;
  /** Whether the transfer fails in the end. */
  readonly fails: boolean;
  readonly priority: number;
}

/** How many of the requests end, all of which were submitted at once. */
function endedOf(asked: readonly Asked[], engine: ModelEngine, clock: SimulatedClock): number {
  let ended = 0;
  for (const { transferMs, fails, promptTokens, ...rest } of asked) {
    const start = (_: number, ready: () => void, fail: () => void): void => {
      if (!fails) clock.setTimer(transferMs ?? 0, ready);
      else if (transferMs === 0) fail();
      else clock.setTimer(transferMs ?? 0, fail);
    };
    const remote = transferMs === undefined ? undefined : { tokens: promptTokens, start };
    const onDone = (): void => void (ended += 1);
    engine.submit({ ...rest, promptTokens, blockHashes: [], remote, onDone });
  }
  while (clock.step()) continue;
  return ended;
}

describe.each(Object.keys(ENGINES))('Admission, with an engine of %s', (kind) => {
  test.each(['fcfs', 'priority'] as const)(
    '[O329] every request ends whose KV fits in memory, also where others wait with KV that has arrived, or whose transfer fails: %s',
    (policy) => {
      const request = fc.record({
        promptTokens: fc.integer({ min: 1, max: 40 }),
        outputTokens: fc.integer({ min: 1, max: 24 }),
        transferMs: fc.option(fc.nat(50), { nil: undefined }),
        fails: fc.boolean(),
        priority: fc.nat(2),
      });
      fc.assert(
        fc.property(fc.array(request, { maxLength: 12 }), (asked) => {
          const clock = new SimulatedClock();
          const engine = ENGINES[kind]?.(clock, policy) as ModelEngine;
          expect(endedOf(asked, engine, clock)).toBe(asked.length);
          expect(engine.kv.pool.held).toBe(0);
        }),
        { seed: 1, numRuns: 300 },
      );
    },
  );
});
