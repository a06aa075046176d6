import type { ServingPoint } from './serving-point.ts';
import { type Calibrated, type PointPrediction, simulatePoint } from './simulate-point.ts';

/** How far one prediction is from what was measured, as shares: 0.1 is ten per cent too high. */
export interface PointError {
  readonly config: string;
  readonly throughputRps: number;
  /** Measured throughput over the configuration's highest: how near its capacity this load is. */
  readonly load: number;
  readonly heldOut: boolean;
  readonly e2eMean: number;
  readonly ttftMean: number;
  readonly ttftMedian: number;
  readonly throughput: number;
}

export interface CalibrationReport {
  readonly fittedOn: readonly string[];
  readonly calibrated: Calibrated;
  readonly errors: readonly PointError[];
  /** Error of the highest throughput, by configuration. */
  readonly capacity: Readonly<Record<string, number>>;
}

/** Another draw of arrivals than the one fitted on. */
const REPORT = { seconds: 60, seed: 7 };

/** Predicts every point, those fitted on and those held out. */
export function reportOn(
  points: readonly ServingPoint[],
  { calibrated, fittedOn }: Pick<CalibrationReport, 'calibrated' | 'fittedOn'>,
): CalibrationReport {
  const predictions = points.map((point) => simulatePoint(point, calibrated, REPORT));
  const groups = Map.groupBy(points, ({ config }) => config);
  const highest = new Map(
    [...groups].map(([config, group]) => [
      config,
      Math.max(...group.map(({ throughputRps }) => throughputRps)),
    ]),
  );
  const capacity = [...groups].map(([config, group]) => {
    const predicted = Math.max(
      ...group.map((point) => predictions[points.indexOf(point)]?.throughputRps ?? Number.NaN),
    );
    return [config, predicted / (highest.get(config) ?? Number.NaN) - 1];
  });
  return {
    fittedOn,
    calibrated,
    capacity: Object.fromEntries(capacity) as Record<string, number>,
    errors: points.map((point, index) => ({
      ...errorsOf(point, predictions[index] as PointPrediction),
      load: point.throughputRps / (highest.get(point.config) ?? Number.NaN),
      heldOut: !fittedOn.includes(point.config),
    })),
  };
}

function errorsOf(
  point: ServingPoint,
  predicted: PointPrediction,
): Omit<PointError, 'load' | 'heldOut'> {
  return {
    config: point.config,
    throughputRps: point.throughputRps,
    e2eMean: predicted.e2eMeanS / point.e2eMeanS - 1,
    ttftMean: predicted.ttftMeanS / point.ttftMeanS - 1,
    ttftMedian: predicted.ttftMedianS / point.ttftMedianS - 1,
    throughput: predicted.throughputRps / point.throughputRps - 1,
  };
}

/** A table by load level, never one average alone. */
export function renderReport({
  fittedOn,
  errors,
  capacity,
  calibrated,
}: CalibrationReport): string {
  const percent = (value: number): string =>
    `${value >= 0 ? '+' : ''}${(100 * value).toFixed(1)} %`;
  const rows = errors.map((error) => [
    error.config,
    error.throughputRps.toFixed(1),
    `${(100 * error.load).toFixed(0)} %`,
    percent(error.e2eMean),
    percent(error.ttftMean),
    percent(error.ttftMedian),
    percent(error.throughput),
    error.heldOut ? 'predicted' : 'fitted',
  ]);
  const head = [
    'config',
    'requests/s',
    'load',
    'E2E',
    'TTFT mean',
    'TTFT median',
    'throughput',
    '',
  ];
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const table = [head, ...rows]
    .map((row) => row.map((cell, at) => cell.padStart(widths[at] ?? 0)).join('  '))
    .join('\n');
  const mean = (of: (error: PointError) => number): string =>
    `${(100 * (errors.reduce((sum, error) => sum + Math.abs(of(error)), 0) / errors.length)).toFixed(1)} %`;
  const capacities = Object.entries(capacity).map(([name, error]) => `${name} ${percent(error)}`);
  return `fitted on ${fittedOn.join(' and ')}

${table}

capacity: ${capacities.join(', ')}
mean absolute error: E2E ${mean(({ e2eMean }) => e2eMean)}, throughput ${mean(({ throughput }) => throughput)}
coefficients: ${JSON.stringify(calibrated, (_key, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(3)) : value))}
`;
}
