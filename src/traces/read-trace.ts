import { readFileSync } from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';
import { csvFormats, csvReader } from './csv.ts';
import { MOONCAKE_BLOCK_TOKENS, readMooncakeLine } from './mooncake.ts';
import { collectTrace, type Trace, TraceError } from './trace.ts';

/** A gigabyte of text: longer traces are cut before they are read. */
const TEXT_BYTES_MAX = 1024 * 1024 * 1024;
/** The first bytes of a zstd frame. */
const ZSTD_MAGIC = 0xfd2fb528;

/** Reads a trace file, telling its format from its first line. Throws TraceError with the line that is wrong. */
export function readTrace(path: string, { lenient }: { readonly lenient: boolean }): Trace {
  return parseTrace(readFileSync(path), { source: path, lenient });
}

export function parseTrace(
  file: Buffer,
  { source, lenient }: { readonly source: string; readonly lenient: boolean },
): Trace {
  const packed = file.length >= 4 && file.readUInt32LE(0) === ZSTD_MAGIC;
  const bytes = packed ? unpacked(file, source) : file;
  if (bytes.length > TEXT_BYTES_MAX) {
    throw new TraceError(
      source,
      1,
      `${bytes.length} bytes of text, more than ${TEXT_BYTES_MAX}; cut the trace`,
    );
  }
  const text = decoded(bytes, { source, lenient });
  const [first = '', ...rest] = text.split('\n');
  const blockTokens = MOONCAKE_BLOCK_TOKENS;
  if (first.trimStart().startsWith('{')) {
    return collectTrace([first, ...rest], readMooncakeLine, { source, blockTokens, lenient });
  }
  const read = csvReader(first);
  if (read === undefined) {
    throw new TraceError(
      source,
      1,
      `neither a JSON object nor a known CSV header: ${csvFormats()}`,
    );
  }
  // No prefix ids: the size only sets how finely memory is counted.
  return collectTrace(rest, read, { source, blockTokens: 64, lenient, firstLine: 2 });
}

function unpacked(file: Buffer, source: string): Buffer {
  try {
    return zstdDecompressSync(file, { maxOutputLength: TEXT_BYTES_MAX });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TraceError(source, 1, `damaged zstd data: ${why}`);
  }
}

function decoded(
  bytes: Buffer,
  { source, lenient }: { readonly source: string; readonly lenient: boolean },
): string {
  try {
    return new TextDecoder('utf-8', { fatal: !lenient }).decode(bytes);
  } catch {
    throw new TraceError(source, lineOfBadUtf8(bytes), 'not UTF-8');
  }
}

function lineOfBadUtf8(bytes: Buffer): number {
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(10, start);
    const stop = end === -1 ? bytes.length : end;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(start, stop));
    } catch {
      return line;
    }
    start = stop + 1;
  }
  return line;
}
