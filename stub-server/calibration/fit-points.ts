import type { RooflineLatency } from '../engine/latency-model.ts';
import { fitLog, type LogPrior } from './gauss-newton.ts';
import { predictPoint } from './predict-point.ts';
import type { ServingPoint } from './serving-point.ts';
import type { Calibration, PointPrediction } from './simulate-point.ts';

/** Attention within prompts, from data sheets: prompts of a few hundred tokens do not show it. */
const SQUARE_MS = 5.3e-7;
/** Standard deviations: repetitions of such benchmarks, and the model's own error. */
const E2E_SPREAD = 0.03;
const TTFT_SPREAD = 0.08;
const THROUGHPUT_SPREAD = 0.01;
/** Simulated time per point: long enough to be steady, short enough for a hundred tries. */
const RUNS = { seconds: 60, seed: 1, runs: 4, steadyRuns: 1 };

/** Fits the engine's coefficients to the results of benchmarks, starting from the priors. */
export function fitPoints(
  points: readonly ServingPoint[],
  priors: readonly LogPrior[],
  onIteration?: (iteration: number, loss: number) => void,
): Calibration {
  const values = fitLog({
    priors,
    ...(onIteration && { onIteration }),
    residuals: (tried) => {
      const calibrated = calibratedOf(tried, priors);
      return points.flatMap((point) => {
        const predicted = predictPoint(point, calibrated, RUNS);
        const residual = (name: keyof PointPrediction, spread: number): number =>
          Math.log(predicted[name] / point[name]) / Math.hypot(spread, predicted.deviation[name]);
        return [
          residual('e2eMeanS', E2E_SPREAD),
          residual('ttftMedianS', TTFT_SPREAD),
          residual('throughputRps', THROUGHPUT_SPREAD),
        ];
      });
    },
  });
  return calibratedOf(values, priors);
}

/** The values by the names of their priors; a coefficient without a prior is 0. */
export function calibratedOf(values: readonly number[], priors: readonly LogPrior[]): Calibration {
  const named = new Map(priors.map(({ name }, index) => [name, values[index] ?? Number.NaN]));
  const get = (name: string): number => named.get(name) ?? 0;
  const latency: RooflineLatency = {
    kind: 'roofline',
    stepMs: get('stepMs'),
    weightsMs: get('weightsMs'),
    perTokenMs: get('perTokenMs'),
    perSequenceMs: get('perSequenceMs'),
    perContextTokenMs: get('perContextTokenMs'),
    perAttendedSquareMs: SQUARE_MS,
    prefillMs: get('prefillMs'),
    eagerMs: get('eagerMs'),
  };
  return {
    engine: {
      latency,
      admissionMs: get('admissionMs'),
      admissionPerSequenceMs: get('admissionPerSequenceMs'),
      completionMs: get('completionMs'),
    },
    connectMs: get('connectMs'),
  };
}
