import type { TestContext } from 'vitest';

/** What a test has measured of something that was promised. */
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

/** Has the test runner print it in a table at the end. The test still has to expect it. */
export function tellFigure({ task }: TestContext, figure: Figure): void {
  task.meta.figures = [...(task.meta.figures ?? []), figure];
}

/** A share as the table shows it, with its sign. */
export function percent(share: number): string {
  const text = (100 * share).toFixed(Math.abs(share) < 0.0995 ? 2 : 1);
  return `${share > 0 ? '+' : ''}${text} %`;
}
