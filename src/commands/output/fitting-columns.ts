/** Between two columns of a table. */
export const GAP = '  ';

/** The first two columns by importance stay also where they do not fit: less would say nothing. */
const KEPT = 2;

/**
 * The columns of a table that fit into a line of `columnsMax` characters: the most important ones
 * first. `widths` has the width of each of the `heads`.
 */
export function fittingColumns(
  heads: readonly string[],
  widths: readonly number[],
  importance: readonly string[],
  columnsMax: number,
): ReadonlySet<string> {
  const shown = new Set<string>();
  let left = columnsMax + GAP.length;
  for (const head of importance) {
    left -= (widths[heads.indexOf(head)] ?? 0) + GAP.length;
    if (left < 0 && shown.size >= KEPT) break;
    shown.add(head);
  }
  return shown;
}

/** Names the columns that are left out; without a line where there are none. */
export function leftOutNote(
  heads: readonly string[],
  shown: ReadonlySet<string>,
): readonly string[] {
  const leftOut = heads.filter((head) => !shown.has(head)).join(', ');
  return leftOut === '' ? [] : [`in a wider terminal also: ${leftOut}`];
}

/** A sentence in lines that fit into `columnsMax` characters, broken between words. */
export function brokenAtWords(sentence: string, columnsMax: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of sentence.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length > columnsMax && line !== '') {
      lines.push(line);
      line = `${GAP}${word}`;
    } else line = longer;
  }
  return [...lines, line];
}

/** Characters of a line of the terminal; without a bound in a pipe, or where it does not say. */
export function stdoutColumns(): number {
  return process.stdout.columns || Number.POSITIVE_INFINITY;
}
