import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import {
  CAPTURE_VERSION,
  type CaptureHead,
  type CaptureRecord,
} from '../../src/journal/capture/capture-record.ts';
import { CaptureWriter } from '../../src/journal/capture/capture-writer.ts';
import { utf8 } from '../../src/journal/capture/line-bytes.ts';

interface WriterLimits {
  readonly fileBytesMax: number;
  readonly totalBytesMax: number;
  readonly seed?: number;
}

interface WriterBed {
  readonly folder: string;
  readonly writer: CaptureWriter;
  readonly failures: readonly string[];
  /** How many records were lost, each time that it wrote again. */
  readonly resumed: readonly number[];
  readonly later: (ms: number) => void;
}

/** A folder for all captures of a test file. It is removed when the file's tests are over. */
export function capturesRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'pointsman-writer-'));
  afterAll(() => rmSync(root, { recursive: true }));
  return root;
}

/** A writer with a clock of its own, and what it reports. */
export function writerBed(root: string, name: string, given: WriterLimits): WriterBed {
  const { seed = 1, ...limits } = given;
  const folder = join(root, name);
  const failures: string[] = [];
  const resumed: number[] = [];
  let nowMs = 0;
  const writer = new CaptureWriter({
    ...limits,
    folder,
    head: (file): CaptureHead => ({
      e: 'capture',
      version: CAPTURE_VERSION,
      seed,
      config: {},
      wallMs: 0,
      t: 0,
      file,
    }),
    onFailed: (reason) => void failures.push(reason),
    onResumed: (lost) => void resumed.push(lost),
    now: () => nowMs,
  });
  const later = (ms: number): void => void (nowMs += ms);
  return { folder, writer, failures, resumed, later };
}

/** What a writer takes: a record as a line, and how many records it is. */
export function lineOf(record: CaptureRecord): readonly [Uint8Array, number] {
  return [utf8(`${JSON.stringify(record)}\n`), 1];
}

/** A record that no compression makes small. */
export function firstRecord(n: number): CaptureRecord {
  return { e: 'first', t: Math.sin(n) * 1e9, n };
}
