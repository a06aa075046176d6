import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { plainStringEnd } from '../../../test/support/plain-text.ts';
import { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { hashStaged, input, staged, stagedHashes, stringEnd } from './byte-kernel.ts';
import { BYTE_KERNEL_SOURCE } from './byte-kernel-code.ts';

const BLOCK_BYTES = 256;
it('[G150] finds the end of a string where a byte-by-byte reader finds it', () => {
  const piece = fc.oneof(
    { weight: 8, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 40 }) },
    { weight: 8, arbitrary: fc.constantFrom('plain text', 'é', '\xff\x80', 'a'.repeat(33)) },
    { weight: 6, arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\u00e9', '\\/') },
    fc.constantFrom('"', '\\u00g0', '\\x', '\u0001', '\u001f', '\\u12', '\\'),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.nat(20), (pieces, skipped) => {
      const text = pieces.join('');
      const from = Math.min(skipped, text.length);
      input.set(Buffer.from(text, 'latin1'));
      expect(stringEnd(from, text.length)).toBe(plainStringEnd(text, from));
    }),
    { numRuns: 5000, seed: 27 },
  );
});

it('[G151] gives blocks the hashes that KeyedHash gives them', () => {
  const words = fc.uint32Array({ minLength: 64, maxLength: 64 });
  fc.assert(
    fc.property(
      fc.array(words, { minLength: 1, maxLength: 9 }),
      fc.integer(),
      fc.integer(),
      (blocks, kind, secret) => {
        const hash = new KeyedHash(secret);
        blocks.forEach((block, index) =>
          staged.set(new Uint8Array(block.buffer), index * BLOCK_BYTES),
        );
        hashStaged(blocks.length, kind, hash.key);
        const wanted = blocks.flatMap((block) => {
          hash.words(Int32Array.of(...block, kind), block.length + 1);
          return [hash.low >>> 0, hash.high >>> 0];
        });
        expect([...stagedHashes.subarray(0, wanted.length)]).toEqual(wanted);
      },
    ),
    { numRuns: 300, seed: 27 },
  );
});

it('[G152] runs the code that was compiled from the source beside it', () => {
  const source = readFileSync(join(import.meta.dirname, 'byte-kernel.as'));
  const compiled = createHash('sha256').update(source).digest('hex');
  expect(BYTE_KERNEL_SOURCE, 'byte-kernel.as has changed: `npm run kernel`').toBe(compiled);
});
