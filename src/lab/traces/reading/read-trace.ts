import { existsSync, statSync } from 'node:fs';
import { ConfigError } from '../../../framework/error.ts';
import { columnsFormat } from '../columns/columns-format.ts';
import type { TraceColumns } from '../columns/trace-columns.ts';
import { type Trace, type TraceContent, TraceError } from '../trace.ts';
import type { TraceFormat } from '../trace-format.ts';
import { TraceCollector } from './collect-trace.ts';
import { findFormat, formatNamed } from './find-format.ts';
import { firstLineOf } from './first-line.ts';
import { joinRows } from './join-rows.ts';
import { type CaptureReadOptions, readCaptureTrace } from './read-capture-trace.ts';
import { splitLines, type TracePiece } from './split-lines.ts';
import { splitNested } from './split-nested.ts';
import { splitValues } from './split-values.ts';
import { unpackFile } from './unpack.ts';

export interface ReadOptions extends CaptureReadOptions {
  /** Name of the format; found by the first line if not given. */
  readonly from?: string | undefined;
  /** The columns of a table, or fields of JSON, whose format is none that is known. */
  readonly columns?: TraceColumns | undefined;
  /**
   * So many requests are enough: of a format that has them in order, the rest is not read. More may
   * be returned.
   */
  readonly enough?: number | undefined;
}

/** Reads a trace as `readTraceTable` does, with all its requests as objects. */
export function readTrace(path: string, options: ReadOptions): Trace {
  const content = readTraceTable(path, options);
  return { ...content, requests: [...content.requests] };
}

/**
 * Reads a trace, with its first request at 0: a file of any format, plain, gzip or zstd, or the
 * folder of a capture. Plain files are read line by line; a zstd frame and a gzip file are
 * decompressed as a whole, to at most one gigabyte. Throws TraceError with the line that is wrong,
 * and ConfigError if there is no such file or format.
 */
export function readTraceTable(path: string, options: ReadOptions): TraceContent {
  if (!existsSync(path)) throw new ConfigError('trace', [{ path, message: 'does not exist' }]);
  const stats = statSync(path);
  if (!stats.isFile() && !stats.isDirectory()) {
    const message =
      'is neither a file nor a folder, and a trace may be read more than once: write it into a file';
    throw new ConfigError('trace', [{ path, message }]);
  }
  if (options.columns !== undefined && stats.isDirectory()) {
    const message = 'is a folder, as of a capture: --columns is for a file';
    throw new ConfigError('trace', [{ path, message }]);
  }
  if (options.from === 'capture' || stats.isDirectory()) return readCaptureTrace(path, options);
  const chunks = unpackFile(path, options);
  try {
    return parse(chunks, path, options);
  } finally {
    chunks.return();
  }
}

function parse(chunks: Iterable<Buffer>, source: string, options: ReadOptions): TraceContent {
  const { lenient, from, columns, enough = Number.POSITIVE_INFINITY } = options;
  const { first, all } = firstLineOf(chunks, { source, lenient });
  if (columns === undefined && from === undefined && first.text.startsWith('{"e":"capture"')) {
    return readCaptureTrace(source, options);
  }
  const format = formatOf(first, options);
  if (typeof format === 'string') throw new TraceError(source, first.line, format);
  const reader = format.reader(first.text);
  if (typeof reader === 'string') throw new TraceError(source, first.line, reader);
  // A brace alone shows no format.
  const isGuess = from === undefined && columns === undefined && first.text.trim() !== '{';
  const guess = isGuess ? format.name : undefined;
  const isArray = first.text.trimStart().startsWith('[');
  const { ordered } = format;
  const collector = new TraceCollector({ source, lenient, ordered, guess, isArray });
  const { shape } = format;
  for (const piece of piecesOf(all, shape, first.text)) {
    if (reader.hasHeader === true && piece.line === first.line) continue;
    if ('wrong' in piece) collector.refuse(piece.wrong, piece.line);
    else if (piece.text.trim() !== '') {
      collector.add(reader.read(piece.text), piece.line, reader.onRow);
    }
    if (collector.hasFirst(enough)) break;
  }
  collector.leaveOut(reader.rowsLeftOut?.() ?? []);
  for (const note of reader.notes?.() ?? []) collector.note(note);
  return collector.trace(reader.blockTokens);
}

/** A string is an error message. */
function formatOf(
  { text, head }: { readonly text: string; readonly head?: string },
  { from, columns }: ReadOptions,
): TraceFormat | string {
  if (columns !== undefined && text.trim() !== '') return columnsFormat(columns, text);
  return from === undefined ? findFormat(text, head) : formatNamed(from);
}

function piecesOf(
  chunks: Iterable<Buffer>,
  shape: TraceFormat['shape'],
  firstLine: string,
): Iterable<TracePiece> {
  if (typeof shape === 'object') return splitNested(chunks, shape.nested);
  if (shape === 'rows') return joinRows(splitLines(chunks));
  const inLines = shape === 'lines' || (shape === 'lines-or-values' && isJsonObject(firstLine));
  return inLines ? splitLines(chunks) : splitValues(chunks);
}

function isJsonObject(text: string): boolean {
  try {
    return !Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}
