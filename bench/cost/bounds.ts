import { FIGURES, type FigureName, figureUnit } from './figures.ts';

/** What a figure of a row may be at most. */
export interface Bound {
  readonly figure: FigureName;
  readonly max: number;
  /** What `max` multiplies: the same figure of the Go echo or of another row, in the same run. */
  readonly times?: 'echo' | { readonly row: string };
}

export function atMost(figure: FigureName, max: number): Bound {
  return { figure, max };
}

export function ofEcho(figure: FigureName, max: number): Bound {
  return { figure, max, times: 'echo' };
}

export function ofRow(figure: FigureName, row: string, max: number): Bound {
  return { figure, max, times: { row } };
}

/** A text such as `p99 ≤ 4 ms` or `CPU ≤ 2.5 × echo`. `costUnit` is that of the row. */
export function boundText({ figure, max, times }: Bound, costUnit: string): string {
  const { name } = FIGURES[figure];
  if (times !== undefined) return `${name} ≤ ${max} × ${times === 'echo' ? 'echo' : times.row}`;
  return `${name} ≤ ${max} ${figureUnit(figure, costUnit)}`.trimEnd();
}
