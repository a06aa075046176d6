import { sideResult } from '../measure-row.ts';
import type { Round } from '../measure-side.ts';
import { FAILED_SHARE_MAX } from '../verdict.ts';
import { addedBy, type Beside, cpuRatio, type Interval, medianCpu } from './compare.ts';
import type { MeasuredRow } from './measure-group.ts';
import type { GoRow } from './rows.ts';
import { OUR_SIDES, type OurSide, type SideName } from './sides.ts';

/** One picker in one row. CPU is in ms for each request that was answered. */
export interface PickerResult {
  readonly name: 'go' | OurSide;
  readonly perSecond: number;
  readonly scrapesPerSecond: number;
  /** Share of requests that did not get a 2xx. */
  readonly failedShare: number;
  /** Medians of all turns. */
  readonly cpuMs: Readonly<Partial<Record<CpuFigure, number>>>;
  readonly residentMb: number;
  /** What it adds to the time of a request; only in rows at a constant rate. */
  readonly addedMs: { readonly p50Ms?: number; readonly p99Ms?: number };
  /** CPU over that of the Go picker; empty for itself. */
  readonly overGo: Readonly<Partial<Record<CpuFigure, Interval>>>;
}

export interface GoResult {
  readonly row: GoRow;
  readonly pickers: readonly PickerResult[];
}

export interface GoVerdict {
  /** False where a bound is missed, or where requests failed. */
  readonly holds: boolean;
  readonly text: string;
}

type CpuFigure = 'cost' | 'userCost' | 'systemCost';
const CPU: readonly CpuFigure[] = ['cost', 'userCost', 'systemCost'];

/** A side that answers a smaller part of a constant rate does not keep up. */
const KEPT_MIN = 0.98;

/** Whether a picker answers what comes in a row with a constant rate. */
export function keepsUp({ load }: GoRow, { perSecond }: Pick<PickerResult, 'perSecond'>): boolean {
  return load.kind !== 'open' || perSecond >= KEPT_MIN * load.perSecond;
}

/** The turns of a row as figures of each picker. */
export function resultOf({ row, pairs }: MeasuredRow): GoResult {
  const roundsOf = (name: SideName): readonly Round[] =>
    pairs.flatMap((pair) => pair.get(name) ?? []);
  const pickers = (['go', ...OUR_SIDES] as const).map((name): PickerResult => {
    const rounds = roundsOf(name);
    const { perSecond, scrapesPerSecond, failedShare, figures } = sideResult(rounds);
    const beside: Beside = pairs.map((pair) => ({
      ours: pair.get(name) ?? [],
      other: pair.get('go') ?? [],
    }));
    return {
      name,
      perSecond,
      scrapesPerSecond,
      failedShare,
      cpuMs: byName((figure) => medianCpu(rounds, figure)),
      residentMb: figures.residentMb?.median ?? Number.NaN,
      addedMs: addedBy(rounds, roundsOf('none')),
      overGo: name === 'go' ? {} : byName((figure) => cpuRatio(beside, figure)),
    };
  });
  return { row, pickers };
}

function byName<T>(
  valueOf: (name: CpuFigure) => T | undefined,
): Readonly<Partial<Record<CpuFigure, T>>> {
  const values: Partial<Record<CpuFigure, T>> = {};
  for (const name of CPU) {
    const value = valueOf(name);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** Whether each of our configurations keeps the row's bound. */
export function goVerdict({ row, pickers }: GoResult): GoVerdict {
  const failing = pickers.filter(({ failedShare }) => !(failedShare <= FAILED_SHARE_MAX));
  if (failing.length > 0) {
    const shares = failing.map(
      ({ name, failedShare }) => `${(100 * failedShare).toFixed(1)} % of ${name}’s`,
    );
    return { holds: false, text: `requests failed: ${shares.join(', ')}` };
  }
  const { overGoMax } = row;
  if (overGoMax === undefined) return { holds: true, text: '' };
  const missed = pickers.flatMap(({ name, overGo: { cost } }) =>
    name === 'go' || (cost !== undefined && cost.median <= overGoMax)
      ? []
      : [`${name} ${cost?.median.toFixed(2) ?? 'without a figure'}`],
  );
  return missed.length > 0
    ? { holds: false, text: `no: ${missed.join(', ')}` }
    : { holds: true, text: 'yes' };
}
