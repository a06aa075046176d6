import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { CAPTURE_HEAD } from '../../../test/captured-records.ts';
import { captureFiles, deleteOldest } from './capture-files.ts';
import { type CaptureRecord } from './capture-record.ts';
import { readCapture } from './read-capture.ts';

const root = mkdtempSync(join(tmpdir(), 'pointsman-capture-folders-'));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;

type Files = Readonly<Record<string, string | Uint8Array>>;

function folderOf(files: Files): string {
  folders += 1;
  const folder = join(root, `${folders}`);
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
  return folder;
}

const text = (...records: readonly object[]): string =>
  records.map((each) => `${JSON.stringify(each)}\n`).join('');
const zstd = (lines: string): Uint8Array => zstdCompressSync(lines);
const head = (file: number, seed = 1): CaptureRecord =>
  ({ ...CAPTURE_HEAD, file, seed }) as CaptureRecord;
const first = (n: number): object => ({ e: 'first', t: n, n });

/** What is read: the numbers of requests in order, and the warnings without the folder. */
function read(folder: string) {
  const { records, warnings } = readCapture(folder);
  const numbers = [...records].flatMap((each) => (each.e === 'first' ? [each.n] : []));
  return { numbers, warnings: warnings.map((each) => each.replaceAll(`${folder}/`, '')) };
}

describe('the folder of a capture', () => {
  it.each([
    ['decompressed', 'jsonl', (lines: string) => lines],
    ['packed by gzip', 'jsonl.zst.gz', (lines: string) => gzipSync(zstd(lines))],
    ['decompressed, and packed by gzip', 'jsonl.gz', (lines: string) => gzipSync(lines)],
  ])('[G240] is read with old files that are %s', (_what, ending, packed) => {
    const folder = folderOf({
      [`capture-000000.${ending}`]: packed(text(head(0), first(1))),
      'capture-000001.jsonl.zst': zstd(text(head(1), first(2))),
    });
    expect(read(folder)).toEqual({ numbers: [1, 2], warnings: [] });
  });

  it('[G240] gives a file once that has a copy, and says so', () => {
    const lines = [text(head(0), first(1)), text(head(1), first(2))] as const;
    const folder = folderOf({
      'capture-000000.jsonl': lines[0],
      'capture-000000.jsonl.zst': zstd(lines[0]),
      'capture-000001.jsonl': lines[1],
      'capture-000001.jsonl.zst': zstd(lines[1]),
    });
    const warnings = ['copies of other files left out: 2; the first, capture-000000.jsonl'];
    expect(read(folder)).toEqual({ numbers: [1, 2], warnings });
  });

  it('[G240] gives what the picker wrote after its file was packed away', () => {
    const folder = folderOf({
      'capture-000000.jsonl.zst.gz': gzipSync(zstd(text(head(0), first(1)))),
      'capture-000000.jsonl.zst': zstd(text(first(2))),
    });
    expect(read(folder)).toEqual({ numbers: [1, 2], warnings: [] });
  });

  it('[G240] counts packed files where the next number and the bound are found', () => {
    const folder = folderOf({
      'capture-000000.jsonl.zst.gz': 'x'.repeat(60),
      'capture-000001.jsonl.zst': 'x'.repeat(60),
      'capture-000002.jsonl.gz': 'x'.repeat(60),
    });
    expect(captureFiles(folder).at(-1)?.number).toBe(2);
    deleteOldest(folder, 130);
    expect(captureFiles(folder).map(({ number }) => number)).toEqual([1, 2]);
  });

  it('[G241] may hold a folder for each of several pickers, which are read by name', () => {
    const folder = folderOf({
      'b/capture-000000.jsonl.zst': zstd(text(head(0, 2), first(3))),
      'a/capture-000000.jsonl.zst': zstd(text(head(0, 1), first(1))),
      'a/capture-000001.jsonl.zst': zstd(text(head(1, 1), first(2))),
    });
    expect(read(folder)).toEqual({ numbers: [1, 2, 3], warnings: [] });
    expect(() => readCapture(folderOf({ 'a/other.txt': '' }))).toThrow(
      'holds no file such as capture-000000.jsonl.zst, and no folder that does',
    );
  });

  it('[G254] may hold the files of several pickers in turns: each run is read as a whole', () => {
    const file = (n: number, seed: number, at: number): Uint8Array =>
      zstd(text(head(n, seed), first(at)));
    const folder = folderOf({
      'capture-000000.jsonl.zst': file(0, 1, 1),
      'capture-000001.jsonl.zst': file(0, 2, 3),
      'capture-000002.jsonl.zst': file(1, 1, 2),
      'capture-000003.jsonl.zst.gz': gzipSync(file(1, 2, 4)),
      'capture-000003.jsonl.zst': zstd(text(first(5))),
    });
    expect(read(folder)).toEqual({ numbers: [1, 2, 3, 4, 5], warnings: [] });
    // The same seed, as of a picker that was started anew with it.
    const again = folderOf({
      'capture-000000.jsonl.zst': file(0, 1, 1),
      'capture-000001.jsonl.zst': file(1, 1, 2),
      'capture-000002.jsonl.zst': file(0, 1, 3),
    });
    expect(read(again)).toEqual({ numbers: [1, 2, 3], warnings: [] });
  });

  it('[G242] says before which file others are missing, and how many', () => {
    const file = (n: number): Uint8Array => zstd(text(head(n), first(n)));
    const folder = folderOf({
      'capture-000001.jsonl.zst': file(1),
      'capture-000002.jsonl.zst': file(2),
      'capture-000005.jsonl.zst': file(5),
    });
    expect(read(folder).warnings).toEqual([
      expect.stringMatching(
        /^capture-000001.jsonl.zst:1: 1 file of the same run is missing before/,
      ),
      expect.stringMatching(/^capture-000005.jsonl.zst:1: 2 files of the same run are missing bef/),
    ]);
  });

  it('[G243] leaves out the last line of a decompressed file where that is cut off', () => {
    const lines = text(head(0), first(1), first(2));
    const cut = folderOf({ 'capture-000000.jsonl': lines.slice(0, -3) });
    const warnings = ['capture-000000.jsonl: the last line is cut off and left out'];
    expect(read(cut)).toEqual({ numbers: [1], warnings });
    expect(read(folderOf({ 'capture-000000.jsonl': lines.trimEnd() })).numbers).toEqual([1, 2]);
    const inTheMiddle = folderOf({
      'capture-000000.jsonl': lines.slice(0, -3),
      'capture-000001.jsonl.zst': zstd(text(head(1), first(3))),
    });
    expect(() => read(inTheMiddle)).toThrow('the last line is cut off');
  });

  it('[G247] says while it is read how much of it has been', () => {
    const folder = folderOf({
      'capture-000000.jsonl.gz': gzipSync(text(head(0), first(1))),
      'capture-000001.jsonl.zst': zstd(text(head(1), first(2))),
      'capture-000002.jsonl.zst': zstd(text(head(2), first(3))),
    });
    const { records, progress } = readCapture(folder);
    const shares: number[] = [];
    for (const { e } of records) {
      if (e === 'first') shares.push(progress.readBytes / progress.totalBytes);
    }
    expect(shares.map((share) => share > 0 && share < 1)).toEqual([false, true, false]);
    expect(shares.at(-1)).toBe(1);
  });

  it('[G243] names a file whose gzip data is cut off', () => {
    const packed = gzipSync(text(head(0), first(1)));
    const folder = folderOf({ 'capture-000000.jsonl.gz': packed.subarray(0, packed.length - 9) });
    expect(() => read(folder)).toThrow(/capture-000000.jsonl.gz:\n.*damaged gzip data: unexpected/);
  });
});
