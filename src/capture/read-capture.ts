import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { ConfigError } from '../framework/error.ts';
import { CAPTURE_VERSION, type CaptureRecord } from './capture-record.ts';

/** Of one frame, a second's records: more is no capture of ours. */
const FRAME_TEXT_BYTES_MAX = 512 * 1024 * 1024;
/** What a record begins with. */
const BRACE = 0x7b;
/** An object, so that the compiler misses a kind that is left out. */
const KINDS: Readonly<Record<CaptureRecord['e'], true>> = {
  capture: true,
  '+': true,
  '-': true,
  labels: true,
  m: true,
  cache: true,
  lora: true,
  started: true,
  custom: true,
  q: true,
  body: true,
  first: true,
  served: true,
  done: true,
  timer: true,
  adopt: true,
  gap: true,
};

export interface CaptureReading {
  /** In order. */
  readonly records: Generator<CaptureRecord, void>;
  /** Sentences about what is missing, known when `records` has ended. */
  readonly warnings: string[];
}

/**
 * Reads a capture: a folder of files, or one file, packed or not. A last frame that was cut off, by a crash, ends the reading with a
 * warning; damage anywhere else throws with its place. Throws ConfigError where there is no capture.
 */
export function readCapture(path: string): CaptureReading {
  const files = filesOf(path);
  const warnings: string[] = [];
  return { records: recordsOf(files, warnings), warnings };
}

function filesOf(path: string): readonly string[] {
  let folder: boolean;
  try {
    folder = statSync(path).isDirectory();
  } catch {
    throw new ConfigError(path, [{ path: 'capture', message: 'is not there' }]);
  }
  if (!folder) return [path];
  const files = readdirSync(path)
    .filter((name) => /^capture-\d{6}\.jsonl\.zst$/.test(name))
    .sort();
  if (files.length > 0) return files.map((name) => join(path, name));
  throw new ConfigError(path, [
    { path: 'capture', message: 'holds no file such as capture-000000.jsonl.zst' },
  ]);
}

function* recordsOf(files: readonly string[], warnings: string[]): Generator<CaptureRecord, void> {
  let line = 0;
  for (const [index, file] of files.entries()) {
    line = 0;
    for (const text of framesOf(file, { last: index === files.length - 1, warnings })) {
      for (const each of text.split('\n')) {
        if (each === '') continue;
        line += 1;
        const record = parsed(each, `${file}:${line}`);
        if (record.e === 'capture' && index === 0 && record.file > 0) {
          warnings.push(
            `the first ${record.file} files of the capture are gone: what they taught is missing, and decisions may differ for that`,
          );
        }
        if (record.e === 'gap') {
          warnings.push(
            `${file}:${line}: ${record.records} records were left out when it was made`,
          );
        }
        yield record;
      }
    }
  }
}

/** The texts of a file's frames, one at a time. */
function* framesOf(
  file: string,
  { last, warnings }: { readonly last: boolean; readonly warnings: string[] },
): Generator<string, void> {
  const bytes = readFileSync(file);
  // Unpacked by hand, to be looked at.
  if (bytes[0] === BRACE) {
    if (bytes.length > FRAME_TEXT_BYTES_MAX) {
      const message = `${bytes.length} bytes unpacked, more than ${FRAME_TEXT_BYTES_MAX}; leave it packed`;
      throw new ConfigError(file, [{ path: 'capture', message }]);
    }
    yield bytes.toString('utf8');
    return;
  }
  let at = 0;
  while (at < bytes.length) {
    let frame: { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };
    try {
      // With `info` it says how much of its input one frame was.
      frame = zstdDecompressSync(bytes.subarray(at), {
        info: true,
        maxOutputLength: FRAME_TEXT_BYTES_MAX,
      }) as never;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (last && /end of file/.test(why)) {
        warnings.push(`${file}: the last ${bytes.length - at} bytes are a frame that was cut off`);
        return;
      }
      throw new ConfigError(file, [{ path: `byte ${at}`, message: `damaged zstd data: ${why}` }]);
    }
    at += frame.engine.bytesWritten;
    yield frame.buffer.toString('utf8');
  }
}

function parsed(line: string, place: string): CaptureRecord {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    throw new ConfigError(place, [{ path: 'record', message: 'is no JSON' }]);
  }
  const kind =
    typeof record === 'object' && record !== null && 'e' in record ? record.e : undefined;
  if (typeof kind === 'string' && Object.hasOwn(KINDS, kind)) return record as CaptureRecord;
  const message = `is of no kind that version ${CAPTURE_VERSION} of the format knows`;
  throw new ConfigError(place, [{ path: 'record', message }]);
}
