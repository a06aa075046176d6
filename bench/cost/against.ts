import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Tools } from '../load/bed.ts';
import { measureRow, type Summary, summarize, type Timing } from './measure-row.ts';
import type { CostRow } from './rows.ts';

/** A row measured with our picker and with the picker of another checkout. */
export interface AgainstResult {
  readonly row: CostRow;
  /** Ours over the other's, one for each pair of processes. */
  readonly ratios: readonly number[];
  readonly ratio: Summary;
  /** CPU ms per request, or cores without requests. */
  readonly ours: Summary;
  readonly other: Summary;
  readonly failedShare: number;
}

/**
 * Two processes of the same code differ by several percent: a ratio needs several pairs of
 * processes.
 */
export const PAIRS_DEFAULT = 3;

/** Throws if the folder is not a checkout with installed packages. */
export function requireCheckout(folder: string): void {
  for (const path of ['src/main.ts', 'node_modules']) {
    if (existsSync(join(folder, path))) continue;
    throw new Error(`--against ${folder}: there is no ${path}; run \`npm ci\` in a checkout first`);
  }
}

/** Measures a row with pairs of processes; within each pair the two sides alternate. */
export async function measureAgainst(
  row: CostRow,
  timing: Timing,
  tools: Tools & { readonly pairs: number },
): Promise<AgainstResult> {
  const ratios: number[] = [];
  const ours: number[] = [];
  const others: number[] = [];
  let failedShare = 0;
  for (let pair = 0; pair < tools.pairs; pair++) {
    const result = await measureRow(row, timing, tools);
    if (result.other === undefined) throw new Error(`row ${row.id} was measured on one side only`);
    ours.push(result.ours.cost.median);
    others.push(result.other.cost.median);
    ratios.push(result.ours.cost.median / result.other.cost.median);
    failedShare = Math.max(failedShare, result.ours.failedShare, result.other.failedShare);
  }
  return {
    row,
    ratios,
    ratio: summarize(ratios),
    ours: summarize(ours),
    other: summarize(others),
    failedShare,
  };
}

export function againstLine({ row, ratio, ours, other, failedShare }: AgainstResult): string {
  const unit = row.load.kind === 'idle' ? 'core' : 'ms';
  const failed = failedShare > 0 ? `, ${(100 * failedShare).toFixed(2)} % failed` : '';
  return (
    `${row.title} (${row.config}): ${ratio.median.toFixed(3)} × ` +
    `(${ratio.min.toFixed(3)} to ${ratio.max.toFixed(3)}), ` +
    `${ours.median.toFixed(3)} ${unit} and ${other.median.toFixed(3)} ${unit}${failed}`
  );
}
