import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { constants, gunzipSync, zstdDecompressSync } from 'node:zlib';

/** Packed bytes that end too early or make no sense. */
export class DamagedArchive extends Error {
  override readonly name = 'DamagedArchive';
}

/** Read at once from a plain file, which may be as long as it likes. */
const CHUNK_BYTES = 1024 * 1024;
/** Of a packed file, which is held whole; Node reads no more at once. */
const PACKED_BYTES_MAX = 2 * 1024 * 1024 * 1024 - 1;
/** A gigabyte of text in one zstd frame or one gzip file, which is held whole. */
const TEXT_BYTES_MAX = 1024 * 1024 * 1024;
const ZSTD_MAGIC = 0xfd2fb528;
/** Sixteen magic numbers of zstd frames that hold nothing to be read. */
const ZSTD_SKIPPABLE = 0x184d2a5;

/** The text of a file, a piece at a time: plain, gzip, or zstd of any number of frames. Throws DamagedArchive on the way. */
export function* unpackedFile(path: string, lenient: boolean): Generator<Buffer, void> {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(4);
    const headBytes = readSync(file, head, 0, 4, 0);
    if (packingOf(head.subarray(0, headBytes)) !== 'plain') {
      if (statSync(path).size > PACKED_BYTES_MAX) {
        throw new DamagedArchive(`more than ${PACKED_BYTES_MAX} packed bytes; unpack it first`);
      }
      yield* unpacked(readFileSync(path), lenient);
      return;
    }
    while (true) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readSync(file, chunk, 0, CHUNK_BYTES, null);
      if (length === 0) return;
      yield chunk.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

/** The same of bytes that are at hand. Where that is lenient, what came out before the damage is given first. */
export function* unpacked(bytes: Buffer, lenient: boolean): Generator<Buffer, void> {
  const packing = packingOf(bytes);
  if (packing === 'plain') yield bytes;
  else if (packing === 'gzip') yield* gunzipped(bytes, lenient);
  else yield* framesOf(bytes, lenient);
}

function packingOf(head: Buffer): 'plain' | 'gzip' | 'zstd' {
  if (head.length >= 2 && head.readUInt16BE(0) === 0x1f8b) return 'gzip';
  const magic = head.length >= 4 ? head.readUInt32LE(0) : 0;
  return magic === ZSTD_MAGIC || magic >>> 4 === ZSTD_SKIPPABLE ? 'zstd' : 'plain';
}

function* gunzipped(bytes: Buffer, lenient: boolean): Generator<Buffer, void> {
  let text: Buffer;
  try {
    text = gunzipSync(bytes, { maxOutputLength: TEXT_BYTES_MAX });
  } catch (error) {
    const finishFlush = constants.Z_SYNC_FLUSH;
    yield* rest(lenient, () => gunzipSync(bytes, { maxOutputLength: TEXT_BYTES_MAX, finishFlush }));
    throw damaged('gzip', error);
  }
  yield text;
}

function* framesOf(bytes: Buffer, lenient: boolean): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; ) {
    const packed = bytes.subarray(at);
    let frame: { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };
    try {
      // With `info` it says how much of its input one frame was: the rest it leaves alone.
      const options = { info: true, maxOutputLength: TEXT_BYTES_MAX };
      frame = zstdDecompressSync(packed, options) as never;
    } catch (error) {
      const finishFlush = constants.ZSTD_e_flush;
      yield* rest(lenient, () =>
        zstdDecompressSync(packed, { maxOutputLength: TEXT_BYTES_MAX, finishFlush }),
      );
      throw damaged('zstd', error);
    }
    yield frame.buffer;
    at += frame.engine.bytesWritten;
  }
}

function* rest(lenient: boolean, unpack: () => Buffer): Generator<Buffer, void> {
  if (!lenient) return;
  try {
    yield unpack();
  } catch {
    // Nothing can be had from it.
  }
}

function damaged(packing: string, error: unknown): DamagedArchive {
  const why = error instanceof Error ? error.message : String(error);
  return new DamagedArchive(
    /larger than/.test(why)
      ? `more than ${TEXT_BYTES_MAX} bytes in one ${packing} frame; unpack the trace first`
      : `damaged ${packing} data: ${why}`,
  );
}
