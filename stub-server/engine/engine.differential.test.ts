import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { type NaiveOptions, type NaiveRequest, runNaively } from '../../test/stub/naive-engine.ts';
import { EngineStats } from '../metrics/engine-stats.ts';
import { PRESETS } from '../presets/presets.ts';
import { Engine } from './engine.ts';
import { latencyModel } from './latency-model.ts';
import { LORA_DEFAULTS } from './lora-slots.ts';

interface Outcome {
  readonly tokensAt: number[];
  cachedTokens: number;
}

function runEngine(
  requests: readonly NaiveRequest[],
  options: NaiveOptions,
): { readonly outcomes: readonly Outcome[]; readonly preemptions: number } {
  const clock = new SimulatedClock();
  const stats = new EngineStats();
  const engine = new Engine({
    ...options,
    clock,
    observer: stats,
    latency: options.stepMs,
    kvBlocks: options.blocks,
    admissionMs: 0,
    loras: {
      ...LORA_DEFAULTS,
      slots: options.loraSlots,
      activateMs: 0,
      loadMs: 0,
      stepOverhead: 0,
    },
  });
  const outcomes = requests.map((request) => {
    const outcome: Outcome = { tokensAt: [], cachedTokens: 0 };
    clock.setTimer(request.arrivalMs, () => {
      engine.submit({
        ...request,
        onToken: (_count, at) => void outcome.tokensAt.push(at),
        onDone: (_reason, usage) => {
          outcome.cachedTokens = usage.cachedTokens;
        },
      });
    });
    return outcome;
  });
  while (clock.step()) continue;
  expect(engine.kv.pool.held).toBe(0);
  const tokens = requests.reduce((sum, { outputTokens }) => sum + outputTokens, 0);
  expect(stats.generatedTokens).toBe(tokens);
  return { outcomes, preemptions: stats.preemptions };
}

const request = fc.record({
  // Never on the same instant as a step's end or another arrival, where any order is right.
  gapMs: fc.double({ min: 0.013, max: 60, noNaN: true }),
  promptTokens: fc.integer({ min: 1, max: 200 }),
  outputTokens: fc.integer({ min: 1, max: 60 }),
  family: fc.nat(3),
  cacheOutput: fc.boolean(),
  priority: fc.nat(2),
  lora: fc.constantFrom(undefined, undefined, 'a', 'b', 'c'),
});

const shape = fc.record({
  blocks: fc.integer({ min: 17, max: 60 }),
  blockTokens: fc.constant(16),
  sequencesMax: fc.integer({ min: 1, max: 8 }),
  batchedTokensMax: fc.integer({ min: 8, max: 120 }),
  loraSlots: fc.integer({ min: 1, max: 2 }),
  policy: fc.constantFrom('fcfs' as const, 'priority' as const),
  wholePromptMustFit: fc.boolean(),
});

describe('Engine against the scheduler’s description taken literally', () => {
  it('gives every token of every request at the same time, and hits the same blocks', () => {
    const model = latencyModel(PRESETS['llama-3.1-8b-h100'].latency);
    fc.assert(
      fc.property(fc.array(request, { maxLength: 40 }), shape, (drawn, options) => {
        let at = 0;
        const requests = drawn.map(({ gapMs, family, cacheOutput, ...rest }, index) => {
          at += gapMs;
          const full = Math.floor(
            (rest.promptTokens + (cacheOutput ? rest.outputTokens : 0)) / options.blockTokens,
          );
          // Families share their first blocks; the rest is their own.
          const blockHashes = Array.from({ length: full }, (_, block) =>
            block < 6 ? 1000 * family + block + 1 : 100_000 * (index + 1) + block,
          );
          return { ...rest, arrivalMs: at, blockHashes };
        });
        const naive = runNaively(requests, { ...options, stepMs: model });
        const ours = runEngine(requests, { ...options, stepMs: model });
        const preemptions = naive.reduce((sum, outcome) => sum + outcome.preemptions, 0);
        expect(ours.preemptions).toBe(preemptions);
        ours.outcomes.forEach(({ tokensAt, cachedTokens }, index) => {
          const wanted = naive[index];
          expect(tokensAt).toHaveLength(wanted?.tokensAt.length ?? -1);
          tokensAt.forEach((token, n) => expect(token).toBeCloseTo(wanted?.tokensAt[n] ?? 0, 6));
          expect(cachedTokens).toBe(wanted?.cachedTokens);
        });
      }),
      { seed: 861, numRuns: 500 },
    );
  });
});
