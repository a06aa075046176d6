import { predictPoint } from './predict-point.ts';
import type { ServingPoint } from './serving-point.ts';
import { type Calibration, mean } from './simulate-point.ts';

/** Errors of one prediction against the measurement, as shares: 0.1 is ten per cent too high. */
interface PointError {
  readonly config: string;
  readonly throughputRps: number;
  /** Measured throughput over the configuration's highest: 1 is its capacity. */
  readonly load: number;
  readonly heldOut: boolean;
  readonly e2eMean: number;
  readonly ttftMean: number;
  readonly ttftMedian: number;
  readonly throughput: number;
  /** Standard deviation of the E2E of one run: what a repetition would differ by. */
  readonly e2eDeviation: number;
  readonly ttftDeviation: number;
}

export interface CalibrationReport {
  readonly fittedOn: readonly string[];
  readonly calibrated: Calibration;
  readonly errors: readonly PointError[];
  /** Error of the highest throughput, by configuration. */
  readonly capacity: Readonly<Record<string, number>>;
}

/** The seed is not that of the fit, so that the arrivals are others. */
const REPORT = { seconds: 60, seed: 100, runs: 8, steadyRuns: 2 };

/** Predicts every point, both those fitted on and those held out. */
export function reportOn(
  points: readonly ServingPoint[],
  { calibrated, fittedOn }: Pick<CalibrationReport, 'calibrated' | 'fittedOn'>,
): CalibrationReport {
  const predicted = points.map((point) => {
    return { point, prediction: predictPoint(point, calibrated, REPORT) };
  });
  const highest = (rates: readonly { readonly throughputRps: number }[]): number =>
    Math.max(...rates.map(({ throughputRps }) => throughputRps));
  const measured = new Map<string, number>();
  const capacity: Record<string, number> = {};
  for (const [config, group] of Map.groupBy(predicted, ({ point }) => point.config)) {
    const rps = highest(group.map(({ point }) => point));
    measured.set(config, rps);
    capacity[config] = highest(group.map(({ prediction }) => prediction)) / rps - 1;
  }
  const errors = predicted.map(({ point, prediction }) => ({
    config: point.config,
    throughputRps: point.throughputRps,
    e2eMean: prediction.e2eMeanS / point.e2eMeanS - 1,
    ttftMean: prediction.ttftMeanS / point.ttftMeanS - 1,
    ttftMedian: prediction.ttftMedianS / point.ttftMedianS - 1,
    throughput: prediction.throughputRps / point.throughputRps - 1,
    e2eDeviation: prediction.deviation.e2eMeanS,
    ttftDeviation: prediction.deviation.ttftMeanS,
    load: point.throughputRps / (measured.get(point.config) ?? Number.NaN),
    heldOut: !fittedOn.includes(point.config),
  }));
  return { fittedOn, calibrated, capacity, errors };
}

const HEAD = [
  'config',
  'requests/s',
  'load',
  'E2E',
  '± run',
  'TTFT mean',
  '± run',
  'TTFT median',
  'throughput',
  '',
];

export function renderReport(report: CalibrationReport): string {
  const { fittedOn, errors, capacity, calibrated } = report;
  const rows = [HEAD, ...errors.map(rowOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const table = rows
    .map((row) => row.map((cell, at) => cell.padStart(widths[at] ?? 0)).join('  '))
    .join('\n');
  const average = (of: (error: PointError) => number): string =>
    `${(100 * mean(errors.map((error) => Math.abs(of(error))))).toFixed(1)} %`;
  const capacities = Object.entries(capacity).map(([name, error]) => `${name} ${percent(error)}`);
  return `fitted on ${fittedOn.join(' and ')}

${table}

capacity: ${capacities.join(', ')}
mean absolute error: E2E ${average(({ e2eMean }) => e2eMean)}, throughput ${average(({ throughput }) => throughput)}
${renderCoefficients(calibrated)}`;
}

function rowOf(error: PointError): readonly string[] {
  return [
    error.config,
    error.throughputRps.toFixed(1),
    `${(100 * error.load).toFixed(0)} %`,
    percent(error.e2eMean),
    spread(error.e2eDeviation),
    percent(error.ttftMean),
    spread(error.ttftDeviation),
    percent(error.ttftMedian),
    percent(error.throughput),
    error.heldOut ? 'predicted' : 'fitted',
  ];
}

function percent(value: number): string {
  return `${value >= 0 ? '+' : ''}${(100 * value).toFixed(1)} %`;
}

function spread(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

/** A line of JSON with numbers of three digits. */
export function renderCoefficients(coefficients: object): string {
  const json = JSON.stringify(coefficients, (_key, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(3)) : value,
  );
  return `coefficients: ${json}\n`;
}
