import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { constants, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { messageOf } from '../../../framework/error.ts';

/** Compressed bytes that are cut off or damaged. */
export class DamagedArchive extends Error {
  override readonly name = 'DamagedArchive';
}

/** Bytes of a plain file that are read at once. */
const CHUNK_BYTES = 1024 * 1024;
/** For a file that is small, or does not know its size. */
const CHUNK_BYTES_MIN = 16 * 1024;
/** Limit for compressed files, which are held in memory; Node cannot read more at once. */
const PACKED_BYTES_MAX = 2 * 1024 * 1024 * 1024 - 1;
/** Limit for the text of a zstd frame or a gzip file, which is held in memory. */
const TEXT_BYTES_MAX = 1024 * 1024 * 1024;
const HEAD_BYTES = 6;
const TABLE =
  'which is not read: write it as JSON Lines, as by pandas.read_parquet(…).to_json(…, orient="records", lines=True)';
/** What is often given by mistake, by its first bytes. */
const FOREIGN: readonly { readonly magic: string; readonly sentence: string }[] = [
  { magic: 'PAR1', sentence: `this is Parquet, ${TABLE}` },
  { magic: 'ARROW1', sentence: `this is Arrow, ${TABLE}` },
  { magic: 'PK\x03\x04', sentence: 'this is a zip archive: unpack it with unzip' },
  { magic: 'BZh', sentence: 'this is packed by bzip2: unpack it with bunzip2' },
  { magic: '\xfd7zXZ', sentence: 'this is packed by xz: unpack it with unxz' },
  { magic: '\xff\xfe', sentence: 'this is UTF-16: convert it with iconv -f UTF-16 -t UTF-8' },
  { magic: '\xfe\xff', sentence: 'this is UTF-16: convert it with iconv -f UTF-16 -t UTF-8' },
];
const ZSTD_MAGIC = 0xfd2fb528;
/** The upper 28 bits of the magic numbers of zstd frames that decoders skip. */
const ZSTD_SKIPPABLE = 0x184d2a5;

interface UnpackOptions {
  /** Gives the text that precedes damage before it throws. */
  readonly lenient: boolean;
}

/**
 * The text of a file in pieces: plain, gzip, or zstd with any number of frames. Throws
 * DamagedArchive on the way.
 */
export function* unpackFile(path: string, options: UnpackOptions): Generator<Buffer, void> {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const headBytes = readSync(file, head, 0, HEAD_BYTES, 0);
    const packing = packingOf(head.subarray(0, headBytes));
    const foreign = FOREIGN.find(({ magic }) => head.toString('latin1').startsWith(magic));
    if (foreign !== undefined) throw new DamagedArchive(foreign.sentence);
    if (packing !== 'plain') {
      const bytes = packedBytes(path);
      yield* packing === 'gzip' ? gunzip(bytes, options) : unpackFrames(bytes, options);
      return;
    }
    const chunkBytes = Math.min(CHUNK_BYTES, Math.max(CHUNK_BYTES_MIN, fstatSync(file).size));
    while (true) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const length = readSync(file, chunk, 0, chunkBytes, null);
      if (length === 0) return;
      yield chunk.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

function packingOf(head: Buffer): 'plain' | 'gzip' | 'zstd' {
  if (head.length >= 2 && head.readUInt16BE(0) === 0x1f8b) return 'gzip';
  const magic = head.length >= 4 ? head.readUInt32LE(0) : 0;
  return magic === ZSTD_MAGIC || magic >>> 4 === ZSTD_SKIPPABLE ? 'zstd' : 'plain';
}

function packedBytes(path: string): Buffer {
  if (statSync(path).size > PACKED_BYTES_MAX) {
    throw new DamagedArchive(
      `more than ${PACKED_BYTES_MAX} compressed bytes; decompress the file first`,
    );
  }
  return readFileSync(path);
}

function* gunzip(bytes: Buffer, options: UnpackOptions): Generator<Buffer, void> {
  let text: Buffer;
  try {
    text = gunzipSync(bytes, { maxOutputLength: TEXT_BYTES_MAX });
  } catch (error) {
    const finishFlush = constants.Z_SYNC_FLUSH;
    yield* rest(options, () => gunzipSync(bytes, { maxOutputLength: TEXT_BYTES_MAX, finishFlush }));
    throw damaged('gzip', error);
  }
  yield text;
}

function* unpackFrames(bytes: Buffer, options: UnpackOptions): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; ) {
    const packed = bytes.subarray(at);
    let frame: { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };
    try {
      // With `info` it returns how many bytes of its input the frame had.
      const wanted = { info: true, maxOutputLength: TEXT_BYTES_MAX };
      frame = zstdDecompressSync(packed, wanted) as never;
    } catch (error) {
      const finishFlush = constants.ZSTD_e_flush;
      yield* rest(options, () =>
        zstdDecompressSync(packed, { maxOutputLength: TEXT_BYTES_MAX, finishFlush }),
      );
      throw damaged('zstd', error);
    }
    yield frame.buffer;
    at += frame.engine.bytesWritten;
  }
}

function* rest({ lenient }: UnpackOptions, unpack: () => Buffer): Generator<Buffer, void> {
  if (!lenient) return;
  try {
    yield unpack();
  } catch {
    // The rest cannot be read.
  }
}

function damaged(packing: string, error: unknown): DamagedArchive {
  const why = messageOf(error);
  return new DamagedArchive(
    /larger than/.test(why)
      ? `more than ${TEXT_BYTES_MAX} bytes in one ${packing} frame; decompress the trace first`
      : `damaged ${packing} data: ${why}`,
  );
}
