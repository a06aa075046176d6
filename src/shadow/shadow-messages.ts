import type { GainReport } from '../promotion/paired-gain.ts';
import type { TlsPaths } from '../runtime/network/client/outgoing-files.ts';
import type { ExplainedDecisions } from './explained-decisions.ts';
import type { ParityReport } from './parity.ts';

/** How a shadow compares with the picker. */
export interface ShadowReport extends ParityReport {
  /** By its own predictions. */
  readonly gain: GainReport;
  /** Decisions that it made itself as a promoted shadow; they are left out of the comparison. */
  readonly ownDecisions: number;
  /** Why some decisions of an observed picker differ; left out before the first. */
  readonly explained?: ExplainedDecisions | undefined;
  /** The scheduler in place of its profiles, where there is one. */
  readonly replacement?: UndecidedReport;
}

/** What a shadow's scheduler did not decide. */
export interface UndecidedReport {
  readonly name: string;
  /** Requests that it left to the profiles; they are not compared. */
  readonly undecided: number;
  /** How many it has left since its start, by reason: those of `Declined`. */
  readonly reasons: Readonly<Record<string, number>>;
  /** Why it is not connected now; left out while it is. */
  readonly trouble?: string;
}

/** What the thread sends after each batch, and once a second during a long one. */
export interface ShadowMessage {
  readonly report: ShadowReport;
  /** The batch's decisions as JSON Lines, if they were asked for. */
  readonly lines: string;
  /** Whether the batch is complete. */
  readonly batchDone: boolean;
}

/** Files of TLS that the connection of its scheduler cannot use any more. */
export interface RefusedFilesMessage {
  readonly refusedFiles: TlsPaths;
}
