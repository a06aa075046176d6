import type { PageKind } from '../load/answers.ts';
import type { Wiring } from '../load/bed.ts';
import type { Bound } from './bounds.ts';

export type RowLoad =
  /** As many requests as are answered: the picker never pauses. */
  | { readonly kind: 'closed'; readonly connections: number; readonly bodyBytes: number }
  /** A constant rate; also measures how long requests take. */
  | {
      readonly kind: 'open';
      readonly perSecond: number;
      readonly bodyBytes: number;
      /** Requests in flight at most, where the picker does not keep up; about a thousand unless given. */
      readonly atOnceMax?: number;
    }
  /** Answers that outlast a round: a request's cost is that of its chunks. */
  | { readonly kind: 'streams'; readonly connections: number; readonly bodyBytes: number }
  /** No requests: what scraping costs by itself. */
  | { readonly kind: 'idle' }
  /** The start of the process until it serves. */
  | { readonly kind: 'start' };

/** Rows that are measured for one purpose; `--only` takes a group's name, too. */
export const GROUPS = ['cpu', 'stream', 'efficient', 'latency', 'scrape', 'start'] as const;

export interface CostRow {
  readonly id: string;
  readonly group: (typeof GROUPS)[number];
  readonly title: string;
  /** A built-in configuration's name, or the path of a file. */
  readonly config: string;
  readonly wiring: Wiring;
  readonly endpoints: number;
  readonly page: PageKind;
  /** Server-sent events in each answer; 0 for a short JSON answer. */
  readonly answerChunks: number;
  readonly chunkGapMs?: number;
  /** The part of each prompt that others begin with as well; half of it unless given. */
  readonly sharedPart?: number;
  readonly load: RowLoad;
  /** Time until as many requests end as begin: at least the duration of an answer. */
  readonly settleMs: number;
  /** A round takes so many times as long as others. */
  readonly lengthened?: number;
  /** Have V8 report collections. */
  readonly collections?: boolean;
  /**
   * The reference picker's figure with its default configuration: ms per request, or cores if idle.
   */
  readonly reference?: number;
  /** What must hold. */
  readonly asked: readonly Bound[];
}

/** What rows have in common, unless they say otherwise. */
export const USUAL = {
  config: 'default',
  wiring: 'envoy',
  endpoints: 8,
  page: 'small',
  answerChunks: 0,
  settleMs: 400,
} as const;

export const KIB = 1024;

/** Rows without requests, where nothing but the picker is measured. */
export function isIdle({ load }: CostRow): boolean {
  return load.kind === 'idle';
}

/** The unit of a row's `cost`. */
export function unitOf(row: CostRow): string {
  return isIdle(row) ? 'core' : 'ms';
}
