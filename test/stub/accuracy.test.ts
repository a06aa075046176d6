import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { Engine } from '../../stub-server/engine/engine.ts';
import { latencyModel, type StepLoad } from '../../stub-server/engine/latency-model.ts';
import { EngineStats } from '../../stub-server/metrics/engine-stats.ts';
import { PRESETS, type PresetName } from '../../stub-server/presets/presets.ts';
import { percent, tellFigure } from '../support/figure.ts';

const NAMES = Object.keys(PRESETS) as PresetName[];
/** Enough that memory is never the limit. */
const KV_BLOCKS = 1_000_000;

function setUp(name: PresetName): { readonly clock: SimulatedClock; readonly engine: Engine } {
  const clock = new SimulatedClock();
  const preset = PRESETS[name];
  const latency = latencyModel(preset.latency);
  const observer = new EngineStats();
  const sizes = { blockTokens: 16, kvBlocks: KV_BLOCKS };
  return { clock, engine: new Engine({ ...preset, ...sizes, clock, latency, observer }) };
}

const NOTHING: StepLoad = {
  prefillTokens: 0,
  prefillSequences: 0,
  decodeSequences: 0,
  contextTokens: 0,
  attendedSquares: 0,
};

/** A chunk of `tokens` behind `before` others. */
function chunk(tokens: number, before: number): StepLoad {
  const attendedSquares = (before + tokens) ** 2 - before ** 2;
  return { ...NOTHING, prefillTokens: tokens, prefillSequences: 1, attendedSquares };
}

/** First and further tokens of one request alone, against the formula: relative errors. */
function errorsAlone(
  name: PresetName,
  promptTokens: number,
): { readonly ttft: number; readonly tpot: number } {
  const { latency, admissionMs, batchedTokensMax } = PRESETS[name];
  const stepMs = latencyModel(latency);
  const { clock, engine } = setUp(name);
  const outputTokens = 50;
  const at: number[] = [];
  engine.submit({
    promptTokens,
    outputTokens,
    blockHashes: [],
    onToken: (_, t) => void at.push(t),
  });
  while (clock.step()) continue;
  let ttft = admissionMs;
  for (let done = 0; done < promptTokens; done += batchedTokensMax) {
    ttft += stepMs(chunk(Math.min(batchedTokensMax, promptTokens - done), done));
  }
  const contextTokens = promptTokens + (outputTokens - 2) / 2;
  const tpot = stepMs({ ...NOTHING, decodeSequences: 1, contextTokens });
  const [first = Number.NaN, last = Number.NaN] = [at[0], at.at(-1)];
  return { ttft: first / ttft - 1, tpot: (last - first) / (outputTokens - 1) / tpot - 1 };
}

interface Shape {
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** Requests per second at saturation, computed from one mean step. */
function closedForm(name: PresetName, { promptTokens, outputTokens }: Shape): number {
  const { latency, sequencesMax, batchedTokensMax } = PRESETS[name];
  const decodes = outputTokens - 1;
  // A request takes one place in the batch for each output token, and all its tokens in the budget.
  const perStep = Math.min(
    sequencesMax / outputTokens,
    batchedTokensMax / (promptTokens + decodes),
  );
  const stepMs = latencyModel(latency)({
    prefillTokens: perStep * promptTokens,
    prefillSequences: perStep,
    decodeSequences: perStep * decodes,
    contextTokens: perStep * decodes * (promptTokens + decodes / 2),
    attendedSquares: perStep * promptTokens ** 2,
  });
  return (1000 * perStep) / stepMs;
}

/** The same, measured on the engine over `seconds` after as many of warm-up. */
function measured(name: PresetName, shape: Shape, seconds: number): number {
  const { clock, engine } = setUp(name);
  const { sequencesMax } = PRESETS[name];
  let done = 0;
  const submit = (outputTokens: number): void => {
    const onDone = (): void => {
      done += 1;
      submit(shape.outputTokens);
    };
    engine.submit({ ...shape, outputTokens, blockHashes: [], onDone });
  };
  for (let count = 0; count < 2 * sequencesMax; count++) {
    // The first requests have different lengths; else all requests would end together.
    submit(Math.ceil((((count % sequencesMax) + 1) / sequencesMax) * shape.outputTokens));
  }
  while (clock.step(1000 * seconds)) continue;
  const before = done;
  while (clock.step(2000 * seconds)) continue;
  return (done - before) / seconds;
}

describe('the stub’s engine against its own formula', () => {
  it.for(NAMES)('%s: one request alone is within one percent', (name, context) => {
    const errors = [10, 1000, 30_000].map((promptTokens) => errorsAlone(name, promptTokens));
    const ttft = Math.max(...errors.map((error) => Math.abs(error.ttft)));
    const tpot = Math.max(...errors.map((error) => Math.abs(error.tpot)));
    tellFigure(context, {
      what: `${name}, one request alone: TTFT, TPOT`,
      promised: '±1 %',
      measured: `${percent(ttft)}, ${percent(tpot)}`,
    });
    expect(ttft).toBeLessThan(0.01);
    expect(tpot).toBeLessThan(0.01);
  });

  const shapes: readonly (readonly [PresetName, string, Shape])[] = NAMES.flatMap((name) => [
    [name, 'decode-bound', { promptTokens: 128, outputTokens: 400 }] as const,
    [name, 'prefill-bound', { promptTokens: 6000, outputTokens: 8 }] as const,
  ]);
  it.for(shapes)(
    '%s, %s: throughput at saturation is within 5 %%',
    ([name, bound, shape], context) => {
      const error = measured(name, shape, 120) / closedForm(name, shape) - 1;
      tellFigure(context, {
        what: `${name}, ${bound}: throughput at saturation`,
        promised: '±5 %',
        measured: percent(error),
      });
      expect(Math.abs(error)).toBeLessThan(0.05);
    },
  );
});
