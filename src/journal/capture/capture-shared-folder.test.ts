import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { CAPTURE_HEAD } from '../../../test/captured-records.ts';
import type { CaptureHead, CaptureRecord } from './capture-record.ts';
import { CaptureWriter } from './capture-writer.ts';
import { utf8 } from './line-bytes.ts';
import { readCapture } from './read-capture.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-shared-folder-'));
afterAll(() => rmSync(folder, { recursive: true }));

function writerOf(seed: number, failures: string[]): CaptureWriter {
  return new CaptureWriter({
    folder,
    fileBytesMax: 2000,
    totalBytesMax: 1e9,
    head: (file) => ({ ...(CAPTURE_HEAD as CaptureHead), seed, file }),
    onFailed: (reason) => void failures.push(reason),
  });
}

/** Numbers that no compression makes small. */
const first = (n: number): CaptureRecord => ({ e: 'first', t: Math.sin(n) * 1e9, n });

it('[G248] two pickers that write to one folder never write to one file', async () => {
  const failures: string[] = [];
  const writers = [1, 2].map((seed) => writerOf(seed, failures));
  for (let n = 0; n < 1000; n++) {
    for (const [at, writer] of writers.entries()) {
      writer.write(utf8(`${JSON.stringify(first(5000 * at + n))}\n`), 1);
    }
    if (n % 100 === 99) await Promise.all(writers.map((writer) => writer.flush()));
  }
  for (const writer of writers) await writer.close();
  const bySeed = new Map<number, number[]>();
  let seed = 0;
  for (const record of readCapture(folder).records) {
    if (record.e === 'capture') ({ seed } = record);
    if (record.e === 'first') bySeed.set(seed, [...(bySeed.get(seed) ?? []), record.n]);
  }
  const numbers = Array.from({ length: 1000 }, (_, n) => n);
  expect(bySeed.get(1)).toEqual(numbers);
  expect(bySeed.get(2)).toEqual(numbers.map((n) => 5000 + n));
  expect(failures).toEqual([]);
});
