import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { type EngineRules, OtherEngine } from './other-engine.ts';

const RULES: EngineRules = {
  steps: 'mixed',
  stepTokens: 100,
  sequencesMax: 8,
  kvTokens: 10_000,
  baseMs: 10,
  perPromptTokenMs: 1,
  perPairMs: 0,
  perAnswerMs: 2,
  perContextTokenMs: 0,
};

interface Times {
  first?: number;
  done?: number;
  cached?: number;
}

function bed(rules: Partial<EngineRules> = {}) {
  const clock = new SimulatedClock();
  const engine = new OtherEngine({ ...RULES, ...rules }, { clock, blockTokens: 10 });
  const submit = (promptTokens: number, outputTokens: number, hashes: readonly number[] = []) => {
    const times: Times = {};
    engine.submit({
      promptTokens,
      outputTokens,
      blockHashes: hashes,
      onFirstToken: (at) => {
        times.first = at;
      },
      onDone: (reason, { cachedTokens }, at) => {
        times.done = reason === 'error' ? Number.NaN : at;
        times.cached = cachedTokens;
      },
    });
    return times;
  };
  const run = (): void => {
    while (clock.step());
  };
  return { clock, engine, submit, run };
}

describe('OtherEngine', () => {
  it('splits a prompt into steps, with a token of each answer in each step', () => {
    const { submit, run } = bed();
    const [a, b] = [submit(50, 3), submit(150, 1)];
    run();
    // 50 tokens alone; then 99 beside an answer; then 51 beside it.
    expect(a).toMatchObject({ first: 60, done: 60 + 10 + 99 + 2 + 10 + 51 + 2 });
    expect(b).toMatchObject({ first: 234, done: 234 });
  });

  it('computes whole prompts first and lets answers stand still, where its rules say so', () => {
    const { clock, submit, run } = bed({ steps: 'prefill-first' });
    const a = submit(50, 2);
    clock.advanceTo(30);
    const b = submit(150, 1);
    run();
    expect([a.first, b.first, a.done]).toEqual([60, 60 + 160, 60 + 160 + 12]);
  });

  it('computes nothing twice that it holds, but the last token', () => {
    const { submit, run } = bed();
    submit(40, 1, [1, 2, 3, 4]);
    run();
    const [again, other] = [submit(40, 1, [1, 2, 3, 4]), submit(40, 1, [1, 2, 9, 10])];
    run();
    expect([again.cached, other.cached]).toEqual([39, 20]);
  });

  it('begins no request whose prompt and answer do not fit in memory beside the others', () => {
    const { engine, submit, run } = bed({ kvTokens: 100 });
    const [a, b] = [submit(50, 10), submit(50, 1)];
    expect(engine.sample()).toEqual({ waitingQueueSize: 1, runningRequests: 1, kvCacheUsage: 0.6 });
    run();
    expect(b.first).toBeGreaterThan(a.done ?? Number.NaN);
  });

  it('ends everything with an error when it crashes, and works again', () => {
    const { engine, submit, run } = bed();
    const [a, b] = [submit(50, 5), submit(50, 5)];
    engine.crash();
    expect([a.done, b.done]).toEqual([Number.NaN, Number.NaN]);
    const c = submit(50, 1);
    run();
    expect(c.first).toBe(60);
    expect(a.first).toBeUndefined();
  });
});
