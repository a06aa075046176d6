import type { ServingPoint } from './serving-point.ts';
import { type Calibration, mean, type PointPrediction, simulatePoint } from './simulate-point.ts';

const FIGURES = ['throughputRps', 'ttftMeanS', 'ttftMedianS', 'e2eMeanS'] as const;

export interface Prediction extends PointPrediction {
  /** Standard deviation of one run's figures over their mean: what a repetition would differ by. */
  readonly deviation: PointPrediction;
}

interface Runs {
  readonly seconds: number;
  /** The seed of the first run; the next ones count up. */
  readonly seed: number;
  /** Where chance matters, and where it does not. */
  readonly runs: number;
  readonly steadyRuns: number;
}

/** Below this share of the sequences in use, hardly a request waits for one. */
const WAITING_SHARE = 0.7;
/** From this share of its limit on, the client determines what is in flight, not chance. */
const LIMITED_SHARE = 0.9;

/**
 * Predicts the mean of a benchmark's repetitions. Near capacity, one minute of arrivals differs so
 * much from another that a single run says little: there TTFT differs by a half.
 */
export function predictPoint(
  point: ServingPoint,
  calibration: Calibration,
  { seconds, seed, runs, steadyRuns }: Runs,
): Prediction {
  const results = Array.from({ length: ruledByChance(point) ? runs : steadyRuns }, (_, run) =>
    simulatePoint(point, calibration, { seconds, seed: seed + run }),
  );
  const means = figures((name) => mean(results.map((result) => result[name])));
  const deviation = figures((name) => {
    const squares = results.map((result) => (result[name] / means[name] - 1) ** 2);
    return Math.sqrt((mean(squares) * results.length) / Math.max(1, results.length - 1));
  });
  return { ...means, deviation };
}

/** Whether requests wait or not by the chance of their arrivals. */
function ruledByChance(point: ServingPoint): boolean {
  const { throughputRps, e2eMeanS, maxNumSeqs, inFlightMax } = point;
  const inFlight = throughputRps * e2eMeanS;
  return inFlight > WAITING_SHARE * maxNumSeqs && inFlight < LIMITED_SHARE * inFlightMax;
}

function figures(of: (name: (typeof FIGURES)[number]) => number): PointPrediction {
  const [throughputRps, ttftMeanS, ttftMedianS, e2eMeanS] = FIGURES.map(of) as [
    number,
    number,
    number,
    number,
  ];
  return { throughputRps, ttftMeanS, ttftMedianS, e2eMeanS };
}
