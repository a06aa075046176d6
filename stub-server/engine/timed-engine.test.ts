import { describe, expect, test } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { EngineStats } from '../metrics/engine-stats.ts';
import { LORA_DEFAULTS } from './lora-slots.ts';
import type { SequenceRequest } from './sequence.ts';
import { TimedEngine } from './timed-engine.ts';
import { NO_TIME, type Timings } from './timings.ts';

const SEED = 7;

function setUp(timings: Partial<Timings>, { sequencesMax = 4, kvBlocks = 1000 } = {}) {
  const clock = new SimulatedClock();
  const stats = new EngineStats();
  const engine = new TimedEngine({
    clock,
    random: seededRandom(SEED),
    timings: () => ({ ...NO_TIME, ...timings }),
    sequencesMax,
    kvBlocks,
    blockTokens: 16,
    policy: 'fcfs',
    loras: LORA_DEFAULTS,
    observer: stats,
  });
  const run = (request: Partial<SequenceRequest> = {}) => {
    const times: number[] = [];
    let end = '';
    const submission = engine.submit({
      promptTokens: 100,
      blockHashes: [],
      outputTokens: 5,
      onToken: (_, at) => void times.push(at),
      onDone: (reason) => {
        end = reason;
      },
      ...request,
    });
    return { times, end: () => end, submission };
  };
  return { clock, engine, stats, run };
}

const hashes = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe('an engine of fixed times', () => {
  test('[B15] gives the first token and each further one after its time, whatever else runs', () => {
    const { clock, run, stats } = setUp({ firstTokenMs: 50, interTokenMs: 10 });
    const first = run();
    const second = run({ promptTokens: 10_000 });
    clock.advanceTo(clock.now() + 1000);
    expect(first.times).toEqual([50, 60, 70, 80, 90]);
    expect(second.times).toEqual(first.times);
    expect([stats.generatedTokens, stats.promptTokens]).toEqual([10, 10_100]);
  });

  test('[B15] charges prompts by their tokens that are not cached', () => {
    const { clock, run } = setUp({ prefillOverheadMs: 5, prefillPerTokenMs: 1 });
    const cold = run({ promptTokens: 100, blockHashes: hashes(6), outputTokens: 1 });
    clock.advanceTo(clock.now() + 200);
    const warm = run({ promptTokens: 100, blockHashes: hashes(6), outputTokens: 1 });
    clock.advanceTo(clock.now() + 200);
    expect(cold.times).toEqual([105]);
    // 96 tokens are cached.
    expect(warm.times).toEqual([200 + 5 + 4]);
  });

  test('[B15] becomes slower with load, up to the factor of a full batch', () => {
    const { clock, run } = setUp({ firstTokenMs: 100, loadFactor: 3 }, { sequencesMax: 3 });
    const runs = [run({ outputTokens: 1 }), run({ outputTokens: 1 }), run({ outputTokens: 1 })];
    clock.advanceTo(clock.now() + 1000);
    expect(runs.map(({ times }) => times)).toEqual([[100], [200], [300]]);
  });

  test('[B15] keeps deviations within 70 % of the mean', () => {
    const { clock, run } = setUp({ interTokenMs: 10, interTokenDeviationMs: 3 });
    const { times } = run({ outputTokens: 2000 });
    clock.advanceTo(clock.now() + 60_000);
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(3 - 1e-9);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(17 + 1e-9);
    expect(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length).toBeCloseTo(10, 0);
  });

  test('[B15] lets requests above its batch wait, and preempts the last where memory ends', () => {
    const timings = { firstTokenMs: 10, interTokenMs: 10 };
    const { clock, engine, run, stats } = setUp(timings, { sequencesMax: 2, kvBlocks: 8 });
    const first = run({ promptTokens: 60, outputTokens: 20 });
    const second = run({ promptTokens: 60, outputTokens: 20 });
    const third = run({ promptTokens: 60, outputTokens: 1 });
    expect([engine.runningCount, engine.waitingCount]).toEqual([2, 1]);
    clock.advanceTo(clock.now() + 5000);
    expect([first.end(), second.end(), third.end()]).toEqual(['length', 'length', 'length']);
    expect([first.times.length, second.times.length]).toEqual([20, 20]);
    expect(stats.preemptions).toBeGreaterThan(0);
    expect(engine.kv.pool.held).toBe(0);
  });

  test('[B15] stops at a hang and goes on after it; a crash ends everything', () => {
    const { clock, engine, run } = setUp({ firstTokenMs: 50, interTokenMs: 10 });
    const { times, end } = run();
    clock.advanceTo(clock.now() + 20);
    engine.slowdown = Number.POSITIVE_INFINITY;
    clock.advanceTo(clock.now() + 1000);
    expect(times).toEqual([]);
    engine.slowdown = 1;
    clock.advanceTo(clock.now() + 60);
    expect(times).toEqual([1070, 1080]);
    engine.crash();
    expect([end(), engine.runningCount, engine.kv.pool.held]).toEqual(['error', 0, 0]);
  });

  test('[B15] adds the time of a transfer where another server has computed the prompt', () => {
    const { clock, run } = setUp({ firstTokenMs: 500, transferMs: 30, interTokenMs: 10 });
    const remote = { tokens: 100, start: (_: number, ready: () => void) => ready() };
    const { times } = run({ remote, outputTokens: 2 });
    clock.advanceTo(clock.now() + 1000);
    expect(times).toEqual([30, 40]);
  });

  test('[B15] abandons what its client leaves', () => {
    const { clock, engine, run } = setUp({ firstTokenMs: 50 });
    const { submission, end } = run();
    clock.advanceTo(clock.now() + 10);
    submission.abort();
    expect([end(), engine.runningCount, engine.kv.pool.held]).toEqual(['abort', 0, 0]);
  });
});
