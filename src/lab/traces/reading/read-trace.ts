import { existsSync, statSync } from 'node:fs';
import { ConfigError } from '../../../framework/error.ts';
import { type Trace, TraceError } from '../trace.ts';
import type { TraceFormat, TraceReader } from '../trace-format.ts';
import { TraceCollector } from './collect-trace.ts';
import { findFormat, formatNamed } from './find-format.ts';
import { firstLineOf } from './first-line.ts';
import { readCaptureTrace } from './read-capture-trace.ts';
import { splitLines, type TracePiece } from './split-lines.ts';
import { splitValues } from './split-values.ts';
import { unpacked, unpackedFile } from './unpack.ts';

export interface ReadOptions {
  /** Bad lines are left out and counted, and what is out of order is sorted, instead of refusing the trace. */
  readonly lenient: boolean;
  /** A format's name, where it shall not be told from the first line. */
  readonly from?: string | undefined;
}

type NamedOptions = ReadOptions & { readonly source: string };

/**
 * Reads a trace, its first request at 0: a file of any format, plain, gzip or zstd, or a capture's folder. Plain files are read a line at a time;
 * one zstd frame or one gzip file must unpack to a gigabyte at most. Throws TraceError with the line that is wrong, and
 * ConfigError where there is no such file or format.
 */
export function readTrace(path: string, options: ReadOptions): Trace {
  if (!existsSync(path)) throw new ConfigError('trace', [{ path, message: 'is not there' }]);
  if (options.from === 'capture' || statSync(path).isDirectory()) {
    return readCaptureTrace(path, options);
  }
  const chunks = unpackedFile(path, options.lenient);
  try {
    return parse(chunks, { ...options, source: path });
  } finally {
    chunks.return();
  }
}

/** Reads what is at hand. */
export function parseTrace(file: Buffer, options: NamedOptions): Trace {
  return parse(unpacked(file, options.lenient), options);
}

function parse(chunks: Iterable<Buffer>, options: NamedOptions): Trace {
  const { source, lenient, from } = options;
  const { first, all } = firstLineOf(chunks, options);
  if (from === undefined && first.text.startsWith('{"e":"capture"')) {
    return readCaptureTrace(source, options);
  }
  const format = from === undefined ? findFormat(first.text) : formatNamed(from);
  if (typeof format === 'string') throw new TraceError(source, first.line, format);
  const reader = format.reader(first.text);
  if (typeof reader === 'string') throw new TraceError(source, first.line, reader);
  const collector = new TraceCollector({ source, lenient, ordered: format.ordered });
  for (const piece of piecesOf(all, format, first.text)) {
    if (reader.hasHeader === true && piece.line === first.line) continue;
    take(piece, reader, collector);
  }
  return collector.trace(reader.blockTokens);
}

function take(piece: TracePiece, reader: TraceReader, collector: TraceCollector): void {
  if ('wrong' in piece) collector.refuse(piece.wrong, piece.line);
  else if (piece.text.trim() !== '') collector.add(reader.read(piece.text), piece.line);
}

function piecesOf(
  chunks: Iterable<Buffer>,
  { shape }: TraceFormat,
  firstLine: string,
): Iterable<TracePiece> {
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
