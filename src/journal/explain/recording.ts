import type { Layout } from './layout.ts';
import type { ScorerColumns } from './scorer-columns.ts';

/** What is recorded of one plan's decisions. */
export interface Recording {
  readonly layout: Layout;
  /** Forgotten where a segment begins. */
  readonly columns: ScorerColumns[];
}
