import type { TestContext } from 'vitest';

/** A figure that a test has measured, and the promised one. */
export interface Figure {
  readonly what: string;
  readonly promised: string;
  readonly measured: string;
}

declare module 'vitest' {
  interface TaskMeta {
    figures?: readonly Figure[];
  }
}

/** Adds it to the table at the end of the run. The test must still expect it. */
export function tellFigure({ task }: TestContext, figure: Figure): void {
  task.meta.figures = [...(task.meta.figures ?? []), figure];
}

/** A share with its sign, formatted for the table. */
export function percent(share: number): string {
  const text = (100 * share).toFixed(Math.abs(share) < 0.0995 ? 2 : 1);
  return `${share > 0 ? '+' : ''}${text} %`;
}
