import { statSync } from 'node:fs';
import { z } from 'zod';
import { zodIssues } from '../../files/reading/zod-issues.ts';
import { ConfigError } from '../../framework/error.ts';
import { type CaptureFile, filesToRead, sizeOf } from './capture-files.ts';
import {
  CAPTURE_VERSION,
  type CaptureHead,
  type CaptureRecord,
  type EndpointRecord,
  isNewRun,
} from './capture-record.ts';
import { type CutOff, linesOf } from './capture-text.ts';
import { filesByRun } from './files-by-run.ts';
import { recordOf } from './record-of.ts';

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
  challenge: true,
  withdraw: true,
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
  shared: z.boolean().optional(),
});

const NEWLINE = 10;

interface CaptureReading {
  /** In order. */
  readonly records: Generator<CaptureRecord, void>;
  /** Sentences about what is missing; complete when `records` has ended. */
  readonly warnings: string[];
  readonly progress: Readonly<ReadProgress>;
}

/** Bytes of all files, and those that have been read. */
interface ReadProgress {
  readonly totalBytes: number;
  readBytes: number;
}

/**
 * Reads a folder of files, the folders of several pickers in one folder, or one file, compressed or
 * not. A crash can cut off a run's last frame: a warning. Other damage, or a path without a capture,
 * throws a ConfigError with its place.
 */
export function readCapture(path: string): CaptureReading {
  const files = filesOf(path);
  const reader = new CaptureReader(files.reduce((sum, { path }) => sum + sizeOf(path), 0));
  return { records: reader.read(files), warnings: reader.warnings, progress: reader.progress };
}

function filesOf(path: string): readonly Pick<CaptureFile, 'path' | 'stem'>[] {
  let folder: boolean;
  try {
    folder = statSync(path).isDirectory();
  } catch {
    throw new ConfigError(path, [{ path: 'capture', message: 'is not there' }]);
  }
  if (!folder) return [{ path, stem: path }];
  const files = filesToRead(path);
  if (files.length > 0) return filesByRun(files);
  throw new ConfigError(path, [
    {
      path: 'capture',
      message: 'holds no file such as capture-000000.jsonl.zst, and no folder that does',
    },
  ]);
}

class CaptureReader {
  readonly warnings: string[] = [];
  readonly progress: ReadProgress;
  #before: CaptureHead | undefined;
  /** The missing end of the file before: a crash, if the run ends with it. */
  #cut: CutOff | undefined;
  readonly #copies: string[] = [];

  constructor(totalBytes: number) {
    this.progress = { totalBytes, readBytes: 0 };
  }

  *read(files: readonly Pick<CaptureFile, 'path' | 'stem'>[]): Generator<CaptureRecord, void> {
    let records = 0;
    let stem: string | undefined;
    for (const file of files) {
      const endBytes = this.progress.readBytes + sizeOf(file.path);
      for (const record of this.#recordsOf(file.path, { isAgain: file.stem === stem })) {
        records += 1;
        yield record;
      }
      // A file in gzip gives more bytes than it has.
      this.progress.readBytes = endBytes;
      stem = file.stem;
    }
    this.#crashed();
    const [copy] = this.#copies;
    if (copy !== undefined) {
      this.warnings.push(
        `copies of other files left out: ${this.#copies.length}; the first, ${copy}`,
      );
    }
    if (records > 0 || this.warnings.length > 0) return;
    const path = files.map((each) => each.path).join(', ');
    throw new ConfigError(path, [{ path: 'capture', message: 'is empty: no record is in it' }]);
  }

  /** `isAgain`: the file before has the same number. With a head, this one is a copy of it. */
  *#recordsOf(file: string, { isAgain }: { isAgain: boolean }): Generator<CaptureRecord, void> {
    let line = 0;
    const events = {
      onCut: (cut: CutOff) => this.#setCut(cut),
      onRead: (bytes: number) => void (this.progress.readBytes += bytes),
    };
    for (const bytes of linesOf(file, events)) {
      for (const each of textsOf(bytes)) {
        line += 1;
        const place = `${file}:${line}`;
        const record = parsed(each, place);
        if (line === 1 && isAgain && record.e === 'capture') {
          this.#copies.push(file);
          return;
        }
        this.#note(record, place);
        yield record;
      }
    }
  }

  #setCut(cut: CutOff): void {
    // The file before it ended with an incomplete frame, too: that run is over.
    this.#crashed();
    this.#cut = cut;
  }

  #note(record: CaptureRecord, place: string): void {
    if (record.e === 'capture') this.#begin(record, place);
    if (this.#cut !== undefined) throw this.#cut.error;
    if (record.e === 'gap') {
      this.warnings.push(`${place}: ${record.records} records were left out when it was made`);
    }
  }

  #begin(head: CaptureHead, place: string): void {
    const before = this.#before;
    this.#before = head;
    if (!isNewRun(head, before)) return;
    const { file, seed, afterFailure = false } = head;
    const isSame = seed === before?.seed && file > before.file;
    // A run that goes on with another file may only lack the part that was cut off.
    if (!isSame || afterFailure) this.#crashed();
    const missing = isSame ? file - before.file - 1 : file;
    if (missing === 0 || (isSame && afterFailure)) return;
    const what =
      missing === 1 ? '1 file of the same run is' : `${missing} files of the same run are`;
    this.warnings.push(
      `${place}: ${what} missing before it: decisions may differ without what was learned from there; a larger --capture-max-bytes keeps more of them`,
    );
  }

  /** No more records of the run follow. */
  #crashed(): void {
    if (this.#cut !== undefined) this.warnings.push(this.#cut.warning);
    this.#cut = undefined;
  }
}

/** Each line as a text of its own, which is soon forgotten; as parts of one, all would stay with it. */
function* textsOf(lines: Buffer): Generator<string, void> {
  for (let start = 0; start < lines.length; ) {
    const newline = lines.indexOf(NEWLINE, start);
    const end = newline === -1 ? lines.length : newline;
    if (end > start) yield lines.toString('utf8', start, end);
    start = end + 1;
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
  throw new ConfigError(place, [{ path: 'record', message: unknownKind(kind) }]);
}

/** A trace given in place of a capture has no kinds of records. */
function unknownKind(kind: unknown): string {
  return kind === undefined
    ? 'has no `e`, so the file is no capture: give what `serve --capture` wrote; `simulate` and `replay` take traces'
    : `\`e\` is no kind of record that version ${CAPTURE_VERSION} of the format has`;
}

/** Everything in the file is read by its first record, so a damaged one must not pass. */
function checkHead(record: unknown, place: string): void {
  const { error } = head.safeParse(record);
  if (error === undefined) return;
  const issues = zodIssues(error, { schema: head, at: 'record' });
  throw new ConfigError(place, issues);
}
