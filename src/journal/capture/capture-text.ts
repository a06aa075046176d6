import { constants } from 'node:buffer';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { ConfigError, messageOf } from '../../framework/error.ts';
import { recordOf } from './record-of.ts';

/** The end of a file that is missing, as after a crash. */
export interface CutOff {
  /** For where something follows that belongs to the same run of the picker. */
  readonly error: ConfigError;
  readonly warning: string;
}

interface ReadEvents {
  readonly onCut: (cut: CutOff) => void;
  /** Called with the bytes of each frame, before its text is given. */
  readonly onRead: (bytes: number) => void;
}

/**
 * More than any frame of a capture, which holds the records of a second: what a text may have.
 */
const TEXT_BYTES_MAX = constants.MAX_STRING_LENGTH;
/** Node reads no more at once. The picker's own files are far smaller. */
const FILE_BYTES_MAX = 2 * 1024 * 1024 * 1024 - 1;
const BRACE = 0x7b;
const GZIP_MAGIC = 0x1f8b;
const NO_CAPTURE =
  'is neither zstd nor JSON, as a capture is; give a folder of `serve --capture`, or one of its files';

/**
 * The texts of a file's frames, one at a time; of a decompressed file its one text. Both may be
 * packed by gzip, too. Throws ConfigError where it is damaged; an end that is missing is given to
 * `onCut`.
 */
export function* frameTextsOf(file: string, events: ReadEvents): Generator<string, void> {
  refuseTooLarge(file);
  const bytes = unzipped(readFileSync(file), file);
  if (bytes[0] === BRACE) yield* wholeLines(bytes.toString('utf8'), file, events);
  else yield* framesOf(bytes, file, events);
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

/** The text without its last line, where that has no end and is no record. */
function* wholeLines(text: string, file: string, events: ReadEvents): Generator<string, void> {
  const end = text.lastIndexOf('\n') + 1;
  if (end === text.length || isRecord(text.slice(end))) {
    yield text;
    return;
  }
  yield text.slice(0, end);
  const message = 'the last line is cut off';
  const error = new ConfigError(file, [{ path: `character ${end}`, message }]);
  events.onCut({ error, warning: `${file}: ${message} and left out` });
}

function isRecord(line: string): boolean {
  try {
    recordOf(line);
    return true;
  } catch {
    return false;
  }
}

function* framesOf(bytes: Buffer, file: string, events: ReadEvents): Generator<string, void> {
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
    yield frame.buffer.toString('utf8');
  }
}

/** Throws where a file has more bytes than can be read, before any is. */
function refuseTooLarge(file: string): void {
  const { size } = statSync(file);
  if (size <= TEXT_BYTES_MAX) return;
  const refuse = (what: string): never => {
    const message = `has ${size} bytes, more than ${what}`;
    throw new ConfigError(file, [{ path: 'capture', message }]);
  };
  if (size > FILE_BYTES_MAX) {
    refuse(`${FILE_BYTES_MAX} in one file: give the folder with the files that the picker wrote`);
  }
  if (firstByteOf(file) === BRACE) refuse(`${TEXT_BYTES_MAX}: compress it with zstd`);
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
