import { displayWidth, padded } from './display-width.ts';

type Rows = readonly (readonly string[])[];

const GAP = '  ';
const INDENT = '  ';

/**
 * Pads the cells of each column to one width; the first `left` columns are left-aligned. Where
 * that is wider than `columns` characters, the table is cut into parts, each with these first ones.
 */
export function textTable(
  rows: Rows,
  left: number,
  columns: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  const parts = evenParts(rows, left, columns - INDENT.length);
  return parts.flatMap((part, at) => [
    ...(at === 0 ? [] : ['']),
    ...aligned(part, (column) => column < left).map((line) => `${INDENT}${line}`.trimEnd()),
  ]);
}

/** A table in as many parts, one below the other, as `columns` need; each has the `kept` first. */
export function tableWithin(rows: Rows, columns: number, kept = 1): string {
  return evenParts(rows, kept, columns)
    .map((part) => alignedTable(part, kept))
    .join('\n');
}

/**
 * Rows of cells as lines of text, the first row being the head. The first `left` columns and those
 * with an empty head are aligned to the left, the others to the right.
 */
export function alignedTable(rows: Rows, left: number): string {
  const head = rows[0] ?? [];
  const lines = aligned(rows, (column) => column < left || head[column] === '');
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

function aligned(rows: Rows, isLeft: (column: number) => boolean): readonly string[] {
  const widths = widthsOf(rows);
  const cell = (text: string, column: number): string => {
    const width = widths[column] ?? 0;
    return padded(text, width, isLeft(column) ? 'behind' : 'before');
  };
  return rows.map((row) => row.map(cell).join(GAP));
}

/** As few parts as `columns` allow, and as narrow as that allows, so that none has a column alone. */
function evenParts(rows: Rows, kept: number, columns: number): readonly Rows[] {
  const whole = widthsOf(rows).reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  if (whole <= columns) return [rows];
  let parts = partsWithin(rows, kept, columns);
  for (let width = columns - 1; width > 0; width--) {
    const narrower = partsWithin(rows, kept, width);
    if (narrower.length > parts.length) break;
    parts = narrower;
  }
  return parts;
}

/** Parts of a table that are not wider than that; each has the `kept` columns and one at least. */
function partsWithin(rows: Rows, kept: number, columns: number): readonly Rows[] {
  const widths = widthsOf(rows);
  const first = widths.slice(0, kept);
  const room = first.reduce((left, width) => left - width - GAP.length, columns + GAP.length);
  const parts: number[][] = [];
  let left = 0;
  for (const [at, width] of widths.entries()) {
    if (at < kept) continue;
    left -= width + GAP.length;
    if (left < 0 || parts.length === 0) {
      parts.push([...first.keys()]);
      left = room - width - GAP.length;
    }
    parts.at(-1)?.push(at);
  }
  return parts.map((part) => rows.map((row) => part.map((at) => row[at] ?? '')));
}

function widthsOf(rows: Rows): readonly number[] {
  return (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => displayWidth(row[at] ?? ''))),
  );
}
