import { z } from 'zod';
import { type RooflineLatency, rooflineLatency, type StepLoad } from '../engine/latency-model.ts';
import { renderCoefficients } from './calibration-report.ts';
import { csvRows } from './csv-rows.ts';
import { calibratedOf } from './fit-points.ts';
import { fitLog, type LogPrior } from './gauss-newton.ts';
import { OUTSIDE_ENGINE } from './hardware.ts';
import { mean } from './simulate-point.ts';

interface MeasuredStep extends StepLoad {
  readonly stepMs: number;
}

const count = z.coerce.number().nonnegative();
const row = z.object({
  prefillTokens: count,
  prefillSequences: count.optional(),
  decodeSequences: count,
  contextTokens: count.default(0),
  stepMs: z.coerce.number().positive(),
});

/** Relative standard deviation of a step's time. */
const STEP_SPREAD = 0.05;
/** Factor on the spread of priors: measured steps are more certain than data sheets. */
const PRIOR_WIDENING = 4;

/** Reads a CSV with the columns of `row`; context_tokens are those of all decoding sequences. */
export function readSteps(text: string, source: string): readonly MeasuredStep[] {
  return csvRows(text, row, source).map((step) => {
    const { prefillTokens, prefillSequences = prefillTokens > 0 ? 1 : 0 } = step;
    const attendedSquares = prefillSequences === 0 ? 0 : prefillTokens ** 2 / prefillSequences;
    return { ...step, prefillSequences, attendedSquares };
  });
}

/** Fits step-time coefficients to measured steps; outliers have little weight. */
export function fitSteps(
  steps: readonly MeasuredStep[],
  priors: readonly LogPrior[],
): RooflineLatency {
  const wide = priors
    .filter(({ name }) => !OUTSIDE_ENGINE.has(name))
    .map((prior) => ({ ...prior, spread: PRIOR_WIDENING * prior.spread }));
  const values = fitLog({
    priors: wide,
    residuals: (tried) => {
      const model = rooflineLatency(calibratedOf(tried, wide).engine.latency);
      return steps.map((step) => Math.log(model(step) / step.stepMs) / STEP_SPREAD);
    },
  });
  return calibratedOf(values, wide).engine.latency;
}

/** A table of errors by the number of tokens in a step, and the coefficients. */
export function renderSteps(steps: readonly MeasuredStep[], latency: RooflineLatency): string {
  const model = rooflineLatency(latency);
  const buckets = Map.groupBy(steps, ({ prefillTokens, decodeSequences }) => {
    const tokens = prefillTokens + decodeSequences;
    return 2 ** Math.ceil(Math.log2(Math.max(1, tokens)));
  });
  const lines = [...buckets]
    .sort(([a], [b]) => a - b)
    .map(([tokens, group]) => {
      const errors = group
        .map((step) => Math.abs(model(step) / step.stepMs - 1))
        .sort((a, b) => a - b);
      const worst = errors.at(-1) ?? 0;
      return `up to ${String(tokens).padStart(6)} tokens: ${String(group.length).padStart(5)} steps, mean error ${(100 * mean(errors)).toFixed(1)} %, worst ${(100 * worst).toFixed(1)} %`;
    });
  return `${lines.join('\n')}\n${renderCoefficients(latency)}`;
}
