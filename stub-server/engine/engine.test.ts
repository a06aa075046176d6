import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { EngineStats } from '../metrics/engine-stats.ts';
import { PRESETS } from '../presets/presets.ts';
import { Engine, type EngineOptions } from './engine.ts';
import { latencyModel } from './latency-model.ts';
import type { FinishReason, SequenceUsage } from './sequence.ts';

interface SetUp {
  readonly clock: SimulatedClock;
  readonly engine: Engine;
  readonly stats: EngineStats;
}

function setUp(overrides: Partial<EngineOptions> = {}): SetUp {
  const clock = new SimulatedClock();
  const stats = new EngineStats();
  const engine = new Engine({
    clock,
    latency: latencyModel(PRESETS.study.latency),
    observer: stats,
    batchedTokensMax: 8192,
    sequencesMax: 256,
    kvBlocks: 10_000,
    blockTokens: 16,
    admissionMs: 0,
    ...overrides,
  });
  return { clock, engine, stats };
}

/** Fires all that is due; nothing here waits for a promise. */
function drain(clock: SimulatedClock): void {
  while (clock.step()) continue;
}

interface Progress {
  readonly tokensAt: number[];
  done: { reason: FinishReason; usage: SequenceUsage; at: number } | undefined;
}

function submit(
  engine: Engine,
  promptTokens: number,
  outputTokens: number,
  blockHashes: readonly number[] = [],
): Progress & { abort(): void } {
  const progress: Progress = { tokensAt: [], done: undefined };
  const { abort } = engine.submit({
    promptTokens,
    outputTokens,
    blockHashes,
    onToken: (_count, at) => void progress.tokensAt.push(at),
    onDone: (reason, usage, at) => {
      progress.done = { reason, usage, at };
    },
  });
  return Object.assign(progress, { abort });
}

const keys = (from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => from + index);

describe('Engine', () => {
  it('[B164] sees a request later the more sequences run, where one process takes requests and passes on tokens', () => {
    const admission = { admissionMs: 5, admissionPerSequenceMs: 0.5 };
    const firstTokenMs = (running: number): number => {
      const { clock, engine } = setUp({ ...admission, latency: () => 1 });
      for (let count = 0; count < running; count++) submit(engine, 1, 1000);
      clock.advanceTo(100);
      let firstAt = Number.NaN;
      const sentAt = clock.now();
      const onFirstToken = (at: number): void => void (firstAt = at);
      engine.submit({ promptTokens: 1, outputTokens: 1, blockHashes: [], onFirstToken });
      clock.advanceTo(200);
      return firstAt - sentAt;
    };
    expect(firstTokenMs(0)).toBe(6);
    expect(firstTokenMs(20)).toBe(16);
  });

  it('takes exactly as long for one request as the step-time model says', () => {
    const { clock, engine } = setUp();
    const progress = submit(engine, 1000, 4);
    drain(clock);
    const ttft = 6 + 0.04 * 1000;
    const decode = (context: number): number => 6 + 0.05 + 0.00002 * context;
    const wanted = [ttft, ttft + decode(1000)];
    wanted.push((wanted[1] ?? 0) + decode(1001));
    wanted.push((wanted[2] ?? 0) + decode(1002));
    progress.tokensAt.forEach((at, index) => expect(at).toBeCloseTo(wanted[index] ?? 0, 9));
    expect(progress.done?.usage).toEqual({
      promptTokens: 1000,
      completionTokens: 4,
      cachedTokens: 0,
    });
  });

  it('computes a long prompt in chunks of the token budget', () => {
    const { clock, engine } = setUp({ batchedTokensMax: 500 });
    const progress = submit(engine, 1200, 1);
    drain(clock);
    expect(progress.tokensAt[0]).toBeCloseTo(3 * 6 + 0.04 * 1200, 9);
  });

  it('batches: two requests at once finish sooner than one after the other', () => {
    const { clock, engine } = setUp();
    const both = [submit(engine, 100, 50), submit(engine, 100, 50)];
    drain(clock);
    const alone = setUp();
    const one = submit(alone.engine, 100, 50);
    drain(alone.clock);
    const last = Math.max(...both.map(({ done }) => done?.at ?? 0));
    expect(last).toBeLessThan(1.2 * (one.done?.at ?? 0));
  });

  it('holds back what is over the batch size', () => {
    const { clock, engine, stats } = setUp({ sequencesMax: 2 });
    for (let n = 0; n < 5; n++) submit(engine, 10, 10);
    clock.step();
    expect([engine.runningCount, engine.waitingCount]).toEqual([2, 3]);
    drain(clock);
    expect(stats.finished.length).toBe(5);
  });

  it('reuses cached blocks, but always computes at least one token', () => {
    const { clock, engine } = setUp();
    const first = submit(engine, 160, 1, keys(1, 10));
    drain(clock);
    const again = submit(engine, 160, 1, keys(1, 10));
    drain(clock);
    expect(first.done?.usage.cachedTokens).toBe(0);
    expect(again.done?.usage.cachedTokens).toBe(144);
  });

  it('preempts the last request when memory runs out and finishes both in the end', () => {
    const { clock, engine, stats } = setUp({ kvBlocks: 20 });
    const first = submit(engine, 100, 120);
    const second = submit(engine, 100, 120);
    drain(clock);
    expect(stats.preemptions).toBeGreaterThan(0);
    expect(first.done?.at).toBeLessThan(second.done?.at ?? 0);
    expect([first.tokensAt.length, second.tokensAt.length]).toEqual([120, 120]);
  });

  it('[O330] finds the blocks of a preempted answer again, as far as no other sequence has taken them', () => {
    const computedBy = (options: Partial<EngineOptions>): number => {
      let computed = 0;
      const latency: EngineOptions['latency'] = ({ prefillTokens }) => {
        computed += prefillTokens;
        return 1;
      };
      const { clock, engine, stats } = setUp({ kvBlocks: 20, latency, ...options });
      submit(engine, 100, 120);
      const second = submit(engine, 10, 200, [1]);
      drain(clock);
      expect([stats.preemptions > 0, second.done?.usage.completionTokens]).toEqual([true, 200]);
      return computed;
    };
    const found = computedBy({}) - computedBy({ namesOwnBlocks: true });
    expect(found).toBe(5 * 16);
  });

  it('frees what an aborted request held, in any state', () => {
    const { clock, engine, stats } = setUp({ sequencesMax: 1 });
    const running = submit(engine, 100, 1000);
    const waiting = submit(engine, 100, 1000);
    clock.step();
    waiting.abort();
    running.abort();
    running.abort();
    drain(clock);
    expect(engine.kv.pool.held).toBe(0);
    expect(stats.finished.abort).toBe(2);
    expect(running.done?.reason).toBe('abort');
  });

  it('never leaks a block, whatever is submitted, aborted and preempted', () => {
    const request = fc.record({
      prompt: fc.integer({ min: 1, max: 300 }),
      output: fc.integer({ min: 1, max: 60 }),
      family: fc.nat(3),
      abort: fc.boolean(),
      steps: fc.nat(8),
    });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 40 }), (requests) => {
        const { clock, engine } = setUp({ kvBlocks: 40, sequencesMax: 6, batchedTokensMax: 128 });
        for (const { prompt, output, family, abort, steps } of requests) {
          const progress = submit(
            engine,
            prompt,
            output,
            keys(1000 * family, Math.floor(prompt / 16)),
          );
          for (let step = 0; step < steps; step++) clock.step();
          if (abort) progress.abort();
          expect(engine.kv.pool.held).toBeLessThanOrEqual(40);
        }
        drain(clock);
        expect(engine.kv.pool.held).toBe(0);
        expect(engine.runningCount + engine.waitingCount).toBe(0);
      }),
      { seed: 860 },
    );
  });

  it('hits exactly what an LRU of its memory would, one request at a time', () => {
    const blocks = 60;
    const random = seededRandom(7);
    const { clock, engine } = setUp({ kvBlocks: blocks });
    // The oracle: every block's content, least recently used first; the tail of a chain before its
    // head.
    const lru: (number | undefined)[] = Array.from({ length: blocks }, () => undefined);
    let hits = 0;
    for (let n = 0; n < 2000; n++) {
      const family = Math.floor(random.next() * 5);
      const chain = keys(1000 * family, 1 + Math.floor(random.next() * 20));
      const missing = chain.findIndex((key) => !lru.includes(key));
      const held = missing === -1 ? chain.length : missing;
      const progress = submit(engine, 16 * chain.length + 1, 1, chain);
      drain(clock);
      expect(progress.done?.usage.cachedTokens).toBe(16 * held);
      for (const key of chain.slice(0, held)) lru.splice(lru.indexOf(key), 1);
      lru.splice(0, chain.length - held + 1);
      lru.push(undefined, ...[...chain].reverse());
      hits += held;
    }
    expect(hits).toBeGreaterThan(5000);
  });
});
