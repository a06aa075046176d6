import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { OtherSide, Tools } from '../load/bed.ts';
import {
  FIGURE_NAMES,
  FIGURES,
  type FigureName,
  type Figures,
  figureUnit,
  type Summaries,
  type Summary,
  summarize,
  summarizeAll,
} from './figures.ts';
import { measureRow, type RowResult, type SideResult, type Timing } from './measure-row.ts';
import { type CostRow, unitOf } from './row.ts';

/** A row measured with our picker and with the picker of another checkout. */
export interface AgainstResult {
  readonly row: CostRow;
  /** Our figures over the other's: one ratio for each pair of processes. */
  readonly ratios: Summaries;
  readonly ours: Summaries;
  readonly other: Summaries;
  readonly failedShare: number;
}

/**
 * Two processes of the same code differ by several percent: a ratio needs several pairs of
 * processes, as many in one order as in the other.
 */
export const PAIRS_DEFAULT = 4;

/** What measures two pickers in turn. */
export interface PairTools extends Tools {
  readonly main: string;
  readonly other: Extract<OtherSide, { readonly kind: 'picker' }>;
  readonly pairs: number;
}

/** Throws if the folder is not a checkout with installed packages. */
export function requireCheckout(folder: string): void {
  for (const path of ['src/main.ts', 'node_modules']) {
    if (existsSync(join(folder, path))) continue;
    throw new Error(`--against ${folder}: there is no ${path}; run \`npm ci\` in a checkout first`);
  }
}

/**
 * Measures a row with pairs of processes; within each pair the two sides alternate. Every second
 * pair starts the other's process first: the one that was started and warmed up first measured 2 %
 * dearer where both had the same code.
 */
export async function measureAgainst(
  row: CostRow,
  timing: Timing,
  tools: PairTools,
): Promise<AgainstResult> {
  const ours: Figures[] = [];
  const others: Figures[] = [];
  const ratios: Figures[] = [];
  let failedShare = 0;
  for (let pair = 0; pair < tools.pairs; pair++) {
    const [mine, theirs] =
      pair % 2 === 0
        ? bothSides(await measureRow(row, timing, tools))
        : exchanged(bothSides(await measureRow(row, timing, otherFirst(tools))));
    ours.push(medians(mine));
    others.push(medians(theirs));
    ratios.push(ratioOf(mine.rounds, theirs.rounds));
    failedShare = Math.max(failedShare, mine.failedShare, theirs.failedShare);
  }
  return {
    row,
    ratios: summarizeAll(ratios),
    ours: summarizeAll(ours),
    other: summarizeAll(others),
    failedShare,
  };
}

/** The same tools with the places of the two pickers exchanged. */
function otherFirst({ main, oursFlags = [], other, ...tools }: PairTools): Tools {
  return {
    ...tools,
    main: other.main,
    ...(other.flags !== undefined && { oursFlags: other.flags }),
    other: { kind: 'picker', main, flags: oursFlags },
  };
}

function bothSides({ row, ours, other }: RowResult): readonly [SideResult, SideResult] {
  if (other === undefined) throw new Error(`row ${row.id} was measured on one side only`);
  return [ours, other];
}

function exchanged<First, Second>([first, second]: readonly [First, Second]): [Second, First] {
  return [second, first];
}

function medians({ figures }: SideResult): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, { median }]) => [name, median]));
}

/**
 * The median of the ratios of rounds that were next to each other, for each figure. Without figures
 * that are 0 at the other side, such as a count of collections.
 */
function ratioOf(ours: readonly Figures[], others: readonly Figures[]): Figures {
  const ratios: Partial<Record<FigureName, number>> = {};
  for (const name of FIGURE_NAMES) {
    const values = ours.map(
      (figures, round) => (figures[name] ?? 0) / (others[round]?.[name] ?? 0),
    );
    if (values.length > 0 && values.every(Number.isFinite)) ratios[name] = summarize(values).median;
  }
  return ratios;
}

/** One line for each figure of the row. */
export function againstLines({ row, ratios, ours, other, failedShare }: AgainstResult): string {
  const failed = failedShare > 0 ? `, ${(100 * failedShare).toFixed(2)} % failed` : '';
  const lines = FIGURE_NAMES.flatMap((name) => {
    const [mine, theirs, ratio] = [ours[name], other[name], ratios[name]];
    if (mine === undefined || theirs === undefined) return [];
    const unit = figureUnit(name, unitOf(row));
    const times = ratio === undefined ? '–' : `${ratio.median.toFixed(3)} × (${ranged(ratio)})`;
    const values = `${mine.median.toPrecision(3)} and ${theirs.median.toPrecision(3)} ${unit}`;
    return [`  ${FIGURES[name].name.padEnd(26)}${times}, ${values.trimEnd()}`];
  });
  return [`${row.title}${failed}`, ...lines].join('\n');
}

function ranged({ min, max }: Summary): string {
  return `${min.toFixed(3)} to ${max.toFixed(3)}`;
}
