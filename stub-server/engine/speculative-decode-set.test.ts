import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { createMetricsPage, DIALECTS } from '../metrics/engine-page.ts';
import { EngineStats } from '../metrics/engine-stats.ts';
import { PRESETS } from '../presets/presets.ts';
import { Engine, type EngineOptions } from './engine.ts';
import { latencyModel } from './latency-model.ts';

function setUp(overrides: Partial<EngineOptions> = {}) {
  const clock = new SimulatedClock();
  const stats = new EngineStats();
  const sizes = { kvBlocks: 10_000, blockTokens: 16 };
  const engine = new Engine({
    ...sizes,
    clock,
    latency: () => 10,
    observer: stats,
    batchedTokensMax: 8192,
    sequencesMax: 256,
    admissionMs: 0,
    random: seededRandom(3),
    ...overrides,
  });
  return { clock, stats, engine, sizes };
}

describe('speculative decoding', () => {
  it('gives each sequence one token and what of its draft is accepted', () => {
    const speculative = { tokens: 3, acceptance: [1], draftMs: 0 };
    const { clock, engine } = setUp({ speculative });
    const counts: string[] = [];
    engine.submit({
      promptTokens: 10,
      outputTokens: 10,
      blockHashes: [],
      onToken: (count, at) => void counts.push(`${count} at ${at}`),
    });
    while (clock.step()) continue;
    // The prefill gives one; then four a step, and the last step no more than are wanted.
    expect(counts).toEqual(['1 at 10', '5 at 20', '9 at 30', '10 at 40']);
  });

  it('accepts as its chances say: 1 + a + a² + a³ tokens a step on average', () => {
    const speculative = { tokens: 3, acceptance: [0.7], draftMs: 0 };
    const { clock, engine } = setUp({ speculative });
    for (let count = 0; count < 50; count++) {
      engine.submit({ promptTokens: 10, outputTokens: 2000, blockHashes: [] });
    }
    while (clock.step()) continue;
    const { drafts = 0, acceptedTokens = 0, acceptedAt = [] } = engine.speculation ?? {};
    expect(1 + acceptedTokens / drafts).toBeCloseTo(1 + 0.7 + 0.7 ** 2 + 0.7 ** 3, 1);
    expect((acceptedAt[1] ?? 0) / (acceptedAt[0] ?? 0)).toBeCloseTo(0.7, 1);
  });

  it('pays for what is verified, and for the drafts', () => {
    const model = latencyModel(PRESETS.study.latency);
    const speculative = { tokens: 2, acceptance: [0], draftMs: 5 };
    const { clock, engine } = setUp({ speculative, latency: model });
    let end = 0;
    engine.submit({
      promptTokens: 100,
      outputTokens: 2,
      blockHashes: [],
      onDone: (_reason, _usage, at) => {
        end = at;
      },
    });
    while (clock.step()) continue;
    expect(end).toBeCloseTo(6 + 0.04 * 100 + (6 + 0.04 * 2 + 0.05 + 0.00002 * 100) + 5, 6);
  });

  it('never leaks a block nor a token, whatever is submitted, aborted and preempted', () => {
    const request = fc.record({
      prompt: fc.integer({ min: 1, max: 300 }),
      output: fc.integer({ min: 1, max: 60 }),
      abort: fc.boolean(),
      steps: fc.nat(8),
    });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 40 }), (requests) => {
        const speculative = { tokens: 4, acceptance: [0.8, 0.5], draftMs: 1 };
        const sizes = { kvBlocks: 40, sequencesMax: 6, batchedTokensMax: 128 };
        const { clock, engine, stats } = setUp({ ...sizes, speculative });
        let tokens = 0;
        for (const { prompt, output, abort, steps } of requests) {
          const submitted = engine.submit({
            promptTokens: prompt,
            outputTokens: output,
            blockHashes: Array.from({ length: (prompt + output) >> 4 }, (_, at) => at + 1),
            onDone: (_reason, usage) => {
              tokens += usage.completionTokens;
            },
          });
          for (let step = 0; step < steps; step++) clock.step();
          if (abort) submitted.abort();
          expect(engine.kv.pool.held).toBeLessThanOrEqual(40);
        }
        while (clock.step()) continue;
        expect(engine.kv.pool.held).toBe(0);
        expect(engine.runningCount + engine.waitingCount).toBe(0);
        expect(stats.generatedTokens).toBe(tokens);
      }),
      { seed: 863, numRuns: 200 },
    );
  });

  it('shows in metrics, by draft position, and only where there is any', () => {
    const page = (overrides: Partial<EngineOptions>): string => {
      const { engine, stats, sizes } = setUp(overrides);
      const source = { ...sizes, engine, stats, model: 'm', rank: 0, lorasMax: 0 };
      return createMetricsPage(DIALECTS.vllm, {
        ...source,
        prefixCaching: true,
        lorasInUse: () => [],
        startSeconds: () => 0,
      })();
    };
    const shown = page({ speculative: { tokens: 2, acceptance: [0.5], draftMs: 0 } });
    expect(shown.match(/^vllm:spec_decode_num_accepted_tokens_per_pos_total\{/gm)).toHaveLength(2);
    expect(page({})).not.toContain('spec_decode');
  });
});
