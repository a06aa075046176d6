import { constants } from 'node:buffer';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { ConfigError, messageOf } from '../../framework/error.ts';
import { recordOf } from './record-of.ts';

/** The end of a file that is missing, as after a crash. */
export interface CutOff {
  /** Thrown where more records of the same run of the picker follow. */
  readonly error: ConfigError;
  readonly warning: string;
}

interface ReadEvents {
  readonly onCut: (cut: CutOff) => void;
  /** Called with the bytes of each frame, before its text is given. */
  readonly onRead: (bytes: number) => void;
}

/** More than any frame of a capture has, which holds the records of a second. */
const TEXT_BYTES_MAX = constants.MAX_STRING_LENGTH;
/** Node reads no more at once. The picker's own files are far smaller. */
const PACKED_BYTES_MAX = 2 * 1024 * 1024 * 1024 - 1;
/** Bytes of a decompressed file that are read at once. */
const PIECE_BYTES = 1024 * 1024;
/** A longer line is no record. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;
const NEWLINE = 10;
const BRACE = 0x7b;
const GZIP_MAGIC = 0x1f8b;
const NO_CAPTURE =
  'is neither zstd nor JSON, as a capture is; give a folder of `serve --capture`, or one of its files';

/**
 * The lines of a file in pieces of whole lines: its frames, or a decompressed file bit by bit. Both
 * may be packed by gzip, too. Throws ConfigError where it is damaged; an end that is missing is given
 * to `onCut`.
 */
export function* linesOf(file: string, events: ReadEvents): Generator<Buffer, void> {
  if (firstByteOf(file) === BRACE) {
    yield* wholeLines(piecesOf(file, events), file, events);
    return;
  }
  refuseTooLarge(file);
  const bytes = unzipped(readFileSync(file), file);
  if (bytes[0] === BRACE) yield* wholeLines([bytes], file, events);
  else yield* framesOf(bytes, file, events);
}

function* piecesOf(path: string, { onRead }: ReadEvents): Generator<Buffer, void> {
  const file = openSync(path, 'r');
  try {
    while (true) {
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      const bytes = readSync(file, piece);
      if (bytes === 0) return;
      onRead(bytes);
      yield piece.subarray(0, bytes);
    }
  } finally {
    closeSync(file);
  }
}

function unzipped(bytes: Buffer, file: string): Buffer {
  if (bytes.length < 2 || bytes.readUInt16BE(0) !== GZIP_MAGIC) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: TEXT_BYTES_MAX });
  } catch (failure) {
    const message = `damaged gzip data: ${messageOf(failure)}`;
    throw new ConfigError(file, [{ path: 'capture', message }]);
  }
}

/** The pieces without the last line, where that has no end and is no record. */
function* wholeLines(
  pieces: Iterable<Buffer>,
  file: string,
  events: ReadEvents,
): Generator<Buffer, void> {
  // The pieces of a line whose end has not come. They are joined once, however many there are.
  let open: Buffer[] = [];
  let openBytes = 0;
  let ended = 0;
  for (const piece of pieces) {
    const end = piece.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      yield joined(open, piece.subarray(0, end));
      ended += openBytes + end;
      open = [];
      openBytes = 0;
    }
    open.push(piece.subarray(end));
    openBytes += piece.length - end;
    if (openBytes <= LINE_BYTES_MAX) continue;
    const message = `a line has more than the ${LINE_BYTES_MAX} bytes of a record`;
    throw new ConfigError(file, [{ path: `byte ${ended}`, message }]);
  }
  if (openBytes === 0) return;
  const last = Buffer.concat(open);
  if (isRecord(last.toString('utf8'))) {
    yield last;
    return;
  }
  const message = 'the last line is cut off';
  const error = new ConfigError(file, [{ path: `byte ${ended}`, message }]);
  events.onCut({ error, warning: `${file}: ${message} and left out` });
}

function joined(open: readonly Buffer[], end: Buffer): Buffer {
  return open.every(({ length }) => length === 0) ? end : Buffer.concat([...open, end]);
}

function isRecord(line: string): boolean {
  try {
    recordOf(line);
    return true;
  } catch {
    return false;
  }
}

function* framesOf(bytes: Buffer, file: string, events: ReadEvents): Generator<Buffer, void> {
  let at = 0;
  while (at < bytes.length) {
    let frame: { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };
    try {
      // With `info` the result says how many bytes of the input the frame took.
      frame = zstdDecompressSync(bytes.subarray(at), {
        info: true,
        maxOutputLength: TEXT_BYTES_MAX,
      }) as never;
    } catch (failure) {
      const why = messageOf(failure);
      const message =
        at === 0 && /Unknown frame/.test(why) ? NO_CAPTURE : `damaged zstd data: ${why}`;
      const error = new ConfigError(file, [{ path: `byte ${at}`, message }]);
      if (!/end of file/.test(why)) throw error;
      const warning = `${file}: the last ${bytes.length - at} bytes are a frame that was cut off`;
      events.onCut({ error, warning });
      return;
    }
    at += frame.engine.bytesWritten;
    events.onRead(frame.engine.bytesWritten);
    yield frame.buffer;
  }
}

/** Throws where a packed file has more bytes than can be read, before any is. */
function refuseTooLarge(file: string): void {
  const { size } = statSync(file);
  if (size <= PACKED_BYTES_MAX) return;
  const message = `has ${size} bytes, more than ${PACKED_BYTES_MAX} in one file: give the folder with the files that the picker wrote`;
  throw new ConfigError(file, [{ path: 'capture', message }]);
}

function firstByteOf(path: string): number | undefined {
  const file = openSync(path, 'r');
  try {
    const byte = Buffer.alloc(1);
    return readSync(file, byte) === 0 ? undefined : byte[0];
  } finally {
    closeSync(file);
  }
}
