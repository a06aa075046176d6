import type { Trace, TraceRequest } from './trace.ts';

/** A line or value that is sound, and no request whose sizes are known. */
export const LEFT_OUT: unique symbol = Symbol('left out');

/**
 * What one line or value says; a string says what is wrong with it. `outputTokens` is NaN where it is not known, and
 * `atMs` counts from wherever the format counts.
 */
export type ReadResult = TraceRequest | readonly (TraceRequest | typeof LEFT_OUT)[] | string;

/** Reads one trace from its first line to its last. */
export interface TraceReader {
  /** Of the block ids it gives. */
  readonly blockTokens: number;
  /** The first line holds no request. */
  readonly hasHeader?: boolean;
  readonly read: (text: string) => ReadResult;
}

/** What not every format has a place for. */
export type Carried = 'blockIds' | 'model' | 'session' | 'thinkMs' | 'seen';

export interface TraceFormat {
  readonly name: string;
  /** In a few words. */
  readonly about: string;
  /** Beyond times and sizes. */
  readonly carries: readonly Carried[];
  /** A request a line; JSON values, which may be an array's, over any number of lines; or lines if the first is a value. */
  readonly shape: 'lines' | 'values' | 'lines-or-values';
  /** Whether requests stand in the order of arrival, so that another order is damage. */
  readonly ordered: boolean;
  /** A string says what is wrong with the first line. */
  readonly reader: (firstLine: string) => TraceReader | string;
  /** The whole file as pieces of text. Throws ConfigError for what the format cannot carry. */
  readonly write?: (trace: Trace) => Iterable<string>;
}

/** One for all requests of formats that know of none: there may be millions. */
export const NO_BLOCKS: readonly number[] = [];

/** Where there are no prefix ids, the size only sets how finely memory is counted. */
export const BLOCK_TOKENS_WITHOUT_IDS = 64;

/** More than any model takes: a damaged number. */
export const TOKENS_MAX = 20_000_000;

/** Ten million: a busy week, and about what memory holds. */
export const REQUESTS_MAX = 10_000_000;
