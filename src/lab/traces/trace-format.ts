import type { TraceContent, TraceRequest } from './trace.ts';

/** A valid line or value that contains no request of known size. */
export const SKIPPED: unique symbol = Symbol('skipped');

/**
 * The content of one line or value; a string is an error message. `outputTokens` is NaN if it is
 * unknown, and `atMs` may count from any time.
 */
export type ReadResult = TraceRequest | readonly (TraceRequest | typeof SKIPPED)[] | string;

/** Reads one trace from its first line to its last. */
export interface TraceReader {
  /** Tokens in each block of the block ids. */
  readonly blockTokens: number;
  /** Whether the first line is a header and not a request. */
  readonly hasHeader?: boolean;
  readonly read: (text: string) => ReadResult;
  /** Sentences about what was assumed, after the last line. */
  readonly notes?: () => readonly string[];
  /** Told of each request that `read` returned, in their order: its row; undefined if it was refused. */
  readonly onRow?: (row: number | undefined) => void;
  /** Rows of requests that other rows have already, after the last line. */
  readonly rowsLeftOut?: () => readonly number[];
}

/** Fields of a request that not every format can hold. */
export type OptionalField =
  | 'blockIds'
  | 'model'
  | 'session'
  | 'thinkMs'
  | 'priority'
  | 'fairnessId'
  | 'seen';

export interface TraceFormat {
  readonly name: string;
  readonly about: string;
  /** What the format can hold besides times and sizes. */
  readonly carries: readonly OptionalField[];
  /**
   * `lines`: one request per line. `rows`: the same, where a value in quotes may go on over several
   * lines. `values`: JSON objects over any number of lines, alone or in an
   * array. `lines-or-values`: lines if the first line is a whole object, values otherwise. `nested`:
   * one document, in which requests are objects so deep.
   */
  readonly shape: 'lines' | 'rows' | 'values' | 'lines-or-values' | { readonly nested: number };
  /**
   * How a text of this format is known by its first line; of a document over many lines, by its
   * first bytes. A character: by what it begins with, if
   * no format recognizes the line. Lines are not parsed for it, because one may be damaged.
   */
  readonly firstLine: ((text: string) => boolean) | '{' | '[';
  /** What a CSV header must have, for the message about a text that no format knows. */
  readonly csvColumns?: readonly string[];
  /** Whether requests must be in the order of arrival. */
  readonly ordered: boolean;
  /** Returns an error message if the first line is not of this format. */
  readonly reader: (firstLine: string) => TraceReader | string;
  /** The whole file in pieces of text. Throws ConfigError for what the format cannot hold. */
  readonly write?: (trace: TraceContent) => Iterable<string>;
}

/** Shared by all requests of formats without block ids, because there may be millions of them. */
export const NO_TRACE_BLOCKS: readonly number[] = [];

/** Where a trace has no block ids, blocks are only the unit of memory. */
export const BLOCK_TOKENS_WITHOUT_IDS = 64;

/** A reader for formats without block ids. */
export function readerOf(read: TraceReader['read']): () => TraceReader {
  return () => ({ blockTokens: BLOCK_TOKENS_WITHOUT_IDS, read });
}

/** A larger number of tokens exceeds what any model accepts, so the trace is damaged. */
export const TOKENS_MAX = 20_000_000;

/** The requests of a busy week, and about as many as fit into memory. */
export const REQUESTS_MAX = 10_000_000;
