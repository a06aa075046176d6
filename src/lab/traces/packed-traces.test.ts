import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../test/make-trace.ts';
import type { Trace } from './trace.ts';

const read = (text: string | Buffer, from?: string): Trace =>
  readBytes(text, { lenient: false, from });

describe('what is packed', () => {
  const lines = Array.from({ length: 3 }, (_, index) =>
    JSON.stringify({ timestamp: index, input_length: 5, output_length: 5, hash_ids: [index] }),
  );
  const members = (pack: (bytes: Buffer) => Buffer): Buffer =>
    // Lines need not end where frames do.
    Buffer.concat(
      [lines[0]?.slice(0, 9), `${lines[0]?.slice(9)}\n${lines[1]}\n`, lines[2]].map((text) =>
        pack(Buffer.from(text ?? '')),
      ),
    );

  it('is read whole, of however many frames it is', () => {
    const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
    for (const bytes of [
      members(zstdCompressSync),
      members(gzipSync),
      Buffer.concat([skippable, members(zstdCompressSync)]),
    ]) {
      expect(read(bytes).requests).toHaveLength(3);
    }
  });

  it('is refused where it is cut off, with the line it broke at, or read so far and counted', () => {
    for (const pack of [zstdCompressSync, gzipSync]) {
      const cut = members(pack).subarray(0, -6);
      expect(() => read(cut)).toThrow(/\/trace:[13]: damaged (zstd|gzip) data/);
      const { requests, repaired } = readBytes(cut, { lenient: true });
      expect(requests.length).toBeGreaterThan(1);
      expect(repaired).toBeGreaterThan(0);
    }
  });
});
