import type { DecisionMessage, PickerMessage, Welcome } from '../messages.ts';

/** A stream to the scheduler that is tried. */
export interface SchedulerSession {
  readonly welcome: Welcome;
  /** Why it has ended; undefined while it has not. */
  readonly ended: string | undefined;
  /** `extra` are bytes after the message's own. */
  send(message: PickerMessage, extra?: Uint8Array): void;
  /** All that has come for the requests by the time each has an answer, or `ANSWER_MS` have passed. */
  decisions(ids: readonly string[]): Promise<readonly DecisionMessage[]>;
  close(): void;
}

/** Opens a stream and waits for its Welcome. Rejects with a sentence when none comes. */
export type OpenSession = (hello?: { readonly version?: number }) => Promise<SchedulerSession>;

/** What is tried is right or wrong, not fast or slow. */
export const ANSWER_TIMEOUT_MS = 2000;

/** Offered to every scheduler; it may ask for these and no others. */
export const OFFERED_HEADERS: readonly string[] = ['x-tenant', 'x-session'];
