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
    for (const head of [zstd, '{']) {
      const path = fileOf('large', head, 2 ** 31);
      expect(() => readCapture(path).records.next()).toThrow(
        'has 2147483648 bytes, more than 2147483647 in one file: give the folder with the files that the picker wrote',
      );
    }
  });

  it('[O391] is refused before it is read where it is decompressed and longer than a text can be', () => {
    const path = fileOf('long', '{', 2 ** 29);
    expect(() => readCapture(path).records.next()).toThrow(/more than \d+: compress it with zstd/);
  });

  it('[O391] is refused where a decompressed one has as many bytes as a text has not', () => {
    const path = fileOf('text', '{', 0x1fffffe8 + 1);
    expect(() => readCapture(path).records.next()).toThrow(/more than \d+: compress it with zstd/);
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
