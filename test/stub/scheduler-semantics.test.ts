import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { Engine, type EngineOptions } from '../../stub-server/engine/engine.ts';
import type { StepLoad } from '../../stub-server/engine/latency-model.ts';
import { LORA_DEFAULTS } from '../../stub-server/engine/lora-slots.ts';
import type { SequenceRequest, Submission } from '../../stub-server/engine/sequence.ts';
import { EngineStats } from '../../stub-server/metrics/engine-stats.ts';

/** The rules of vLLM V1 in small examples. Each step takes 1 ms, so a time is a step. */

interface Bench {
  readonly clock: SimulatedClock;
  readonly engine: Engine;
  /** For each step: prompt tokens + decoding sequences. */
  readonly steps: string[];
  /** The events of all requests in order: name, event, step. */
  readonly log: string[];
  submit(name: string, request: Partial<SequenceRequest>): Submission;
  run(steps?: number): void;
}

function bench(overrides: Partial<EngineOptions> = {}): Bench {
  const clock = new SimulatedClock();
  const steps: string[] = [];
  const log: string[] = [];
  const stats = new EngineStats();
  const engine = new Engine({
    clock,
    latency: () => 1,
    observer: {
      onArrived: () => stats.onArrived(),
      onScheduled: (sequence, at) => stats.onScheduled(sequence, at),
      onPreempted: ({ request }, at) =>
        void log.push(`${request.tokenIds?.length ?? 0} preempted at ${at}`),
      onPrefilled: (sequence, at) => stats.onPrefilled(sequence, at),
      onStep: ({ prefillTokens, decodeSequences }: StepLoad) =>
        void steps.push(`${prefillTokens}+${decodeSequences}`),
      onFinished: (sequence, reason, at) => stats.onFinished(sequence, reason, at),
    },
    batchedTokensMax: 100,
    sequencesMax: 8,
    kvBlocks: 100,
    blockTokens: 10,
    admissionMs: 0,
    ...overrides,
  });
  return {
    clock,
    engine,
    steps,
    log,
    submit: (name, request) =>
      engine.submit({
        promptTokens: 10,
        outputTokens: 1,
        blockHashes: [],
        onFirstToken: (at) => void log.push(`${name} first ${at}`),
        onDone: (reason, _usage, at) => void log.push(`${name} ${reason} ${at}`),
        ...request,
      }),
    run: (count = 1000) => {
      for (let step = 0; step < count && clock.step(); step++) continue;
    },
  };
}

const hashes = (from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => from + index);

describe('the engine schedules as vLLM V1', () => {
  it('token budget: decodes first, prompts share what is left, the last one cut', () => {
    const { steps, submit, run } = bench();
    submit('a', { promptTokens: 60, outputTokens: 4 });
    submit('b', { promptTokens: 60, outputTokens: 3 });
    submit('c', { promptTokens: 60, outputTokens: 1 });
    run();
    // 60 of a. Then a decodes and 99 are left: 60 of b, 39 of c. Then both decode: the other 21 of
    // c.
    expect(steps).toEqual(['60+0', '99+1', '21+2', '0+2']);
  });

  it('chunked prefill: one prompt over several steps, its token after the last chunk', () => {
    const { steps, log, submit, run } = bench();
    submit('long', { promptTokens: 250 });
    run();
    expect(steps).toEqual(['100+0', '100+0', '50+0']);
    expect(log).toEqual(['long first 3', 'long length 3']);
  });

  it('head of the line: a request that does not fit blocks those behind it, even if they fit', () => {
    const { log, submit, run } = bench({ kvBlocks: 10 });
    submit('holds', { promptTokens: 60, outputTokens: 5 });
    submit('large', { promptTokens: 70, outputTokens: 1 });
    submit('small', { promptTokens: 10, outputTokens: 1 });
    run();
    expect(log).toEqual([
      'holds first 1',
      'holds length 5',
      'large first 6',
      'large length 6',
      'small first 6',
      'small length 6',
    ]);
  });

  it('decode block growth: a block more exactly when the last one is full', () => {
    const { engine, submit, run } = bench();
    submit('a', { promptTokens: 18, outputTokens: 20 });
    const held: number[] = [];
    for (let step = 0; step < 15; step++) {
      held.push(engine.kv.pool.held);
      run(1);
    }
    // 18 tokens are two blocks; the third is taken to compute the 21st token, the fourth for the
    // 31st.
    expect(held).toEqual([2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4]);
  });

  it('preemption: the last request is preempted, and computed again when there is memory', () => {
    const { log, submit, run } = bench({ kvBlocks: 6 });
    submit('first', { promptTokens: 28, outputTokens: 12, tokenIds: hashes(0, 28) });
    submit('last', { promptTokens: 29, outputTokens: 4, tokenIds: hashes(0, 29) });
    run();
    // Three blocks each. In the fourth step `first` computes its 31st token and needs a fourth.
    // `last` has two tokens by then; it computes all 31 again in the step after `first` has ended,
    // which gives it the third.
    expect(log).toEqual([
      'first first 1',
      'last first 2',
      '29 preempted at 3',
      'first length 12',
      'last length 14',
    ]);
  });

  it.each([
    { wholePromptMustFit: true, prefilled: 500 + 600, preemptions: 0 },
    // It begins at once, and loses what it has computed when the memory is full.
    { wholePromptMustFit: false, prefilled: 2288, preemptions: 3 },
  ])(
    '[B260] admission: memory must suffice for a whole prompt ($wholePromptMustFit), not for a chunk',
    ({ wholePromptMustFit, ...wanted }) => {
      const { steps, log, submit, run } = bench({ wholePromptMustFit });
      submit('holds', { promptTokens: 500, outputTokens: 20 });
      submit('long', { promptTokens: 600, outputTokens: 1 });
      run();
      const prefilled = steps.reduce((sum, step) => sum + Number.parseInt(step, 10), 0);
      const preemptions = log.filter((line) => line.includes('preempted')).length;
      expect({ prefilled, preemptions }).toEqual(wanted);
    },
  );

  it('eviction: the tail of a prompt goes before its head', () => {
    const { engine, submit, run } = bench({ kvBlocks: 8 });
    submit('old', { promptTokens: 51, blockHashes: hashes(1, 5) });
    run();
    submit('new', { promptTokens: 41, blockHashes: hashes(11, 4) });
    run();
    // Two blocks were never used, one had no content: two more are needed.
    expect([...engine.kv.pool.contents().keys()].sort((a, b) => a - b)).toEqual([
      1, 2, 3, 11, 12, 13, 14,
    ]);
  });

  it('LoRA: a request without a free slot is skipped, those behind it are admitted', () => {
    const loras = { ...LORA_DEFAULTS, slots: 1, activateMs: 0, loadMs: 0, stepOverhead: 0 };
    const { log, submit, run } = bench({ loras });
    submit('a', { lora: 'a', outputTokens: 3 });
    submit('b', { lora: 'b' });
    submit('a again', { lora: 'a' });
    submit('base', {});
    run();
    expect(log.filter((line) => line.includes('first'))).toEqual([
      'a first 1',
      'a again first 2',
      'base first 2',
      'b first 4',
    ]);
  });

  it('prefill side: blocks stay held after the end until they have been pulled', () => {
    const { engine, submit, run } = bench();
    const leg = submit('leg', { promptTokens: 45, blockHashes: hashes(1, 4), holdBlocks: true });
    run();
    expect(engine.kv.pool.held).toBe(5);
    leg.release();
    leg.release();
    expect(engine.kv.pool.held).toBe(0);
    expect(engine.kv.pool.cached).toBe(4);
  });

  it('decode side: memory is taken before KV comes, and only the last token is computed', () => {
    const { clock, engine, steps, log, submit, run } = bench();
    let arrive = (): void => undefined;
    const remote = {
      tokens: 45,
      start: (_tokens: number, ready: () => void) => {
        arrive = ready;
      },
    };
    submit('leg', { promptTokens: 45, outputTokens: 2, remote });
    run();
    expect([engine.kv.pool.held, engine.waitingCount, steps.length]).toEqual([5, 1, 0]);
    clock.setTimer(7, () => arrive());
    run();
    expect(steps).toEqual(['1+0', '0+1']);
    expect(log).toEqual(['leg first 8', 'leg length 9']);
  });
});
