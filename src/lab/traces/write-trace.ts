import { gzipSync, zstdCompressSync } from 'node:zlib';
import { writeWhole } from '../../files/writing/write-whole.ts';
import { ConfigError } from '../../framework/error.ts';
import type { TraceContent } from './trace.ts';
import type { TraceFormat } from './trace-format.ts';

/** Characters in a zstd frame or gzip member, the most that writer and reader hold in memory. */
const FRAME_CHARACTERS = 8 * 1024 * 1024;

/**
 * Writes a trace, compressed if the path ends in `.zst` or `.gz`. A file at the path is replaced
 * once all is written. Throws ConfigError for a format that cannot be written, for content that it
 * cannot hold, and for a path that cannot be written.
 */
export function writeTrace(path: string, trace: TraceContent, { name, write }: TraceFormat): void {
  if (write === undefined) {
    const message = `${name} can only be read; see trace convert --help for the others`;
    throw new ConfigError('trace', [{ path: 'format', message }]);
  }
  writeWhole(path, compress(write(trace), path));
}

function* compress(pieces: Iterable<string>, path: string): Generator<Buffer, void> {
  const plain = (bytes: Buffer): Buffer => bytes;
  const pack = path.endsWith('.zst') ? zstdCompressSync : path.endsWith('.gz') ? gzipSync : plain;
  let held: string[] = [];
  let characters = 0;
  for (const piece of pieces) {
    held.push(piece);
    characters += piece.length;
    if (characters < FRAME_CHARACTERS) continue;
    yield pack(Buffer.from(held.join('')));
    held = [];
    characters = 0;
  }
  if (characters > 0) yield pack(Buffer.from(held.join('')));
}
