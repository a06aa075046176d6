import { constants } from 'node:buffer';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import { zodIssues } from '../../files/reading/zod-issues.ts';
import { ConfigError, messageOf } from '../../framework/error.ts';
import { captureFiles } from './capture-files.ts';
import {
  CAPTURE_VERSION,
  type CaptureHead,
  type CaptureRecord,
  type EndpointRecord,
  isNewRun,
} from './capture-record.ts';
import { recordOf } from './record-of.ts';

/**
 * More than any frame of a capture, which holds the records of a second: what a text may have.
 */
const FRAME_TEXT_BYTES_MAX = constants.MAX_STRING_LENGTH;
/** Node reads no more at once. The picker's own files are far smaller. */
const FILE_BYTES_MAX = 2 * 1024 * 1024 * 1024 - 1;
const BRACE = 0x7b;
const NO_CAPTURE =
  'is neither zstd nor JSON, as a capture is; give a folder of `serve --capture`, or one of its files';
/** Objects rather than lists, so that the compiler reports a kind that is missing. */
const ENDPOINT_KINDS: Readonly<Record<EndpointRecord['e'], true>> = {
  '+': true,
  '-': true,
  labels: true,
  m: true,
  cache: true,
  lora: true,
  started: true,
  custom: true,
  models: true,
  gpu: true,
  engines: true,
  window: true,
};
const KINDS: Readonly<Record<CaptureRecord['e'], true>> = {
  ...ENDPOINT_KINDS,
  capture: true,
  q: true,
  body: true,
  answer: true,
  first: true,
  served: true,
  done: true,
  timer: true,
  adopt: true,
  gap: true,
};

/** The records of endpoints at the beginning of a file. */
const endpointRecord = z.discriminatedUnion('e', [
  z.looseObject({
    e: z.literal('+'),
    id: z.string(),
    address: z.string(),
    labels: z.record(z.string(), z.string()),
  }),
  z.looseObject({ e: z.literal('m'), id: z.string(), m: z.array(z.unknown()).length(4) }),
  z.looseObject({
    e: z.enum(Object.keys(ENDPOINT_KINDS)).exclude(['+', 'm']),
    id: z.string(),
  }),
]);
const head = z.looseObject({
  version: z.number().max(CAPTURE_VERSION, {
    error: `is later than ${CAPTURE_VERSION}, which this Pointsman reads: use a newer one`,
  }),
  seed: z.number(),
  config: z.looseObject({}),
  wallMs: z.number(),
  timers: z.number().optional(),
  t: z.number(),
  file: z.int().nonnegative(),
  pool: z.array(endpointRecord).optional(),
  afterFailure: z.boolean().optional(),
});

interface CaptureReading {
  /** In order. */
  readonly records: Generator<CaptureRecord, void>;
  /** Sentences about what is missing; complete when `records` has ended. */
  readonly warnings: string[];
}

/**
 * Reads a folder of files or one file, compressed or not. A crash can cut off a run's last frame: a
 * warning. Other damage, or a path without a capture, throws a ConfigError with its place.
 */
export function readCapture(path: string): CaptureReading {
  const files = filesOf(path);
  const reader = new CaptureReader();
  return { records: reader.read(files), warnings: reader.warnings };
}

function filesOf(path: string): readonly string[] {
  let folder: boolean;
  try {
    folder = statSync(path).isDirectory();
  } catch {
    throw new ConfigError(path, [{ path: 'capture', message: 'is not there' }]);
  }
  if (!folder) return [path];
  const files = captureFiles(path);
  if (files.length > 0) return files.map((file) => file.path);
  throw new ConfigError(path, [
    { path: 'capture', message: 'holds no file such as capture-000000.jsonl.zst' },
  ]);
}

class CaptureReader {
  readonly warnings: string[] = [];
  #before: CaptureHead | undefined;
  /** The incomplete frame at the end of the file before: a crash, if the run ends with it. */
  #cut: { readonly error: ConfigError; readonly warning: string } | undefined;

  *read(files: readonly string[]): Generator<CaptureRecord, void> {
    let records = 0;
    for (const file of files) {
      let line = 0;
      for (const text of this.#framesOf(file)) {
        for (const each of text.split('\n')) {
          if (each === '') continue;
          line += 1;
          const place = `${file}:${line}`;
          const record = parsed(each, place);
          this.#note(record, place);
          records += 1;
          yield record;
        }
      }
    }
    this.#crashed();
    if (records > 0 || this.warnings.length > 0) return;
    const path = files.join(', ');
    throw new ConfigError(path, [{ path: 'capture', message: 'is empty: no record is in it' }]);
  }

  #note(record: CaptureRecord, place: string): void {
    if (record.e === 'capture') this.#begin(record);
    if (this.#cut !== undefined) throw this.#cut.error;
    if (record.e === 'gap') {
      this.warnings.push(`${place}: ${record.records} records were left out when it was made`);
    }
  }

  #begin(head: CaptureHead): void {
    if (isNewRun(head, this.#before)) {
      // A run that goes on with another file may only lack the part that was cut off.
      const { file, seed, afterFailure = false } = head;
      if (file === 0 || afterFailure || seed !== this.#before?.seed) this.#crashed();
      if (file > 0 && !(afterFailure && this.#before !== undefined)) {
        this.warnings.push(
          `the first ${head.file} files of the capture are gone: decisions may differ without what was learned from them`,
        );
      }
    }
    this.#before = head;
  }

  /** No more records of the run follow. */
  #crashed(): void {
    if (this.#cut !== undefined) this.warnings.push(this.#cut.warning);
    this.#cut = undefined;
  }

  /** The texts of a file's frames, one at a time. */
  *#framesOf(file: string): Generator<string, void> {
    refuseTooLarge(file);
    const bytes = readFileSync(file);
    // A file that was decompressed by hand, to be read.
    if (bytes[0] === BRACE) {
      yield bytes.toString('utf8');
      return;
    }
    let at = 0;
    while (at < bytes.length) {
      let frame: { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };
      try {
        // With `info` the result says how many bytes of the input the frame took.
        frame = zstdDecompressSync(bytes.subarray(at), {
          info: true,
          maxOutputLength: FRAME_TEXT_BYTES_MAX,
        }) as never;
      } catch (failure) {
        const why = messageOf(failure);
        const message =
          at === 0 && /Unknown frame/.test(why) ? NO_CAPTURE : `damaged zstd data: ${why}`;
        const error = new ConfigError(file, [{ path: `byte ${at}`, message }]);
        if (!/end of file/.test(why)) throw error;
        // The file before it ended with an incomplete frame, too: that run is over.
        this.#crashed();
        const warning = `${file}: the last ${bytes.length - at} bytes are a frame that was cut off`;
        this.#cut = { error, warning };
        return;
      }
      at += frame.engine.bytesWritten;
      yield frame.buffer.toString('utf8');
    }
  }
}

/** Throws where a file has more bytes than can be read, before any is. */
function refuseTooLarge(file: string): void {
  const { size } = statSync(file);
  if (size <= FRAME_TEXT_BYTES_MAX) return;
  const refuse = (what: string): never => {
    const message = `has ${size} bytes, more than ${what}`;
    throw new ConfigError(file, [{ path: 'capture', message }]);
  };
  if (size > FILE_BYTES_MAX) {
    refuse(`${FILE_BYTES_MAX} in one file: give the folder with the files that the picker wrote`);
  }
  if (firstByteOf(file) === BRACE) refuse(`${FRAME_TEXT_BYTES_MAX}: compress it with zstd`);
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

function parsed(line: string, place: string): CaptureRecord {
  let record: unknown;
  try {
    record = recordOf(line);
  } catch {
    throw new ConfigError(place, [{ path: 'record', message: 'is not JSON' }]);
  }
  const kind =
    typeof record === 'object' && record !== null && 'e' in record ? record.e : undefined;
  if (kind === 'capture') checkHead(record, place);
  if (typeof kind === 'string' && Object.hasOwn(KINDS, kind)) return record as CaptureRecord;
  const message = `\`e\` is no kind of record that version ${CAPTURE_VERSION} of the format has`;
  throw new ConfigError(place, [{ path: 'record', message }]);
}

/** Everything in the file is read by its first record, so a damaged one must not pass. */
function checkHead(record: unknown, place: string): void {
  const { error } = head.safeParse(record);
  if (error === undefined) return;
  const issues = zodIssues(error, { schema: head, at: 'record' });
  throw new ConfigError(place, issues);
}
