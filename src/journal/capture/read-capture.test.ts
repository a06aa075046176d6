import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CAPTURE_VERSION, type CaptureRecord, type EndpointRecord } from './capture-record.ts';
import { readCapture } from './read-capture.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-read-capture-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A file that takes no room on the disk beyond its first bytes. */
function fileOf(name: string, head: string | Buffer, bytes: number): string {
  const path = join(folder, name);
  writeFileSync(path, head);
  truncateSync(path, bytes);
  return path;
}

describe('a capture that is too large to read', () => {
  it('[O391] is refused by its size, with what to give in its place', () => {
    const zstd = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
    const path = fileOf('large', zstd, 2 ** 31);
    expect(() => readCapture(path).records.next()).toThrow(
      'has 2147483648 bytes, more than 2147483647 in one file: give the folder with the files that the picker wrote',
    );
  });
});

describe('[G250] a decompressed capture', () => {
  const record = (text: string): string => `${JSON.stringify({ e: 'gap', records: 1, text })}\n`;

  it('is read bit by bit, so that it may be longer than a text can be', () => {
    // Records of several bits, and records that end where a bit does.
    const sizes = [1, 900_000, 2_500_000, 2 ** 20 - record('').length, 5];
    const lines = sizes.map((size) => record('ä'.repeat(size / 2)));
    const path = join(folder, 'plain');
    writeFileSync(path, lines.join(''));
    const { records, progress } = readCapture(path);
    const read = [...records].map((each) => `${JSON.stringify(each)}\n`);
    expect(read.map(({ length }) => length)).toEqual(lines.map(({ length }) => length));
    expect(read.join('') === lines.join('')).toBe(true);
    expect(progress.readBytes).toBe(progress.totalBytes);
  });

  it('is refused where a line is longer than any record, before it is read', () => {
    const path = fileOf('long', '{', 2 ** 32);
    expect(() => readCapture(path).records.next()).toThrow(
      'a line has more than the 67108864 bytes of a record',
    );
  });
});

it('[O474] reads a file that begins with a pool of which all is known', () => {
  const pool: readonly EndpointRecord[] = [
    { e: '+', id: 'a', address: '10.0.0.1:8000', labels: { zone: 'x' } },
    { e: 'cache', id: 'a', blockTokens: 16, blocks: 27_000 },
    { e: 'engines', id: 'a', n: 2 },
    { e: 'lora', id: 'a', running: ['b'], waiting: [], max: 4 },
    { e: 'started', id: 'a', s: 1_796_017_731.5 },
    { e: 'custom', id: 'a', values: { x: 1 } },
    { e: 'm', id: 'a', m: [0, 2, 0.5, 59_674.74] },
  ];
  const head: CaptureRecord = {
    e: 'capture',
    version: CAPTURE_VERSION,
    seed: 1,
    config: {},
    wallMs: 0,
    t: 0,
    file: 0,
    pool,
  };
  const path = join(folder, 'pool');
  writeFileSync(path, `${JSON.stringify(head)}\n`);
  expect([...readCapture(path).records]).toEqual([head]);
});
