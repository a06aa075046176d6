import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { TurnsReader } from '../body/read-in-turns.ts';
import { digestedMessage, messageDigest } from './message-digest.ts';

/** Reads a text in pieces of any lengths. */
class CutReader extends TurnsReader {
  readonly #random = seededRandom(7);

  override async pieces(text: Buffer, read: (piece: Buffer) => void): Promise<void> {
    for (let at = 0; at < text.length; ) {
      const length = 1 + Math.floor(this.#random.next() * 4);
      read(text.subarray(at, at + length));
      at += length;
    }
  }
}

const hashOf = (text: string): string =>
  createHash('sha256').update(text, 'utf16le').digest('base64');
const digestOf = async (message: string): Promise<string> =>
  (await digestedMessage(Buffer.from(message), new CutReader())).digest;
const DIGESTED = { role: 'user', names: ['', ''], calls: [] };

it('[V508] the digest of a message is the same wherever its text is cut (random, seed 508)', async () => {
  const character = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 3 }).map((text) => JSON.stringify(text).slice(1, -1)),
    fc.constantFrom(
      '\\\\',
      '\\"',
      '\\n',
      '\\u00fc',
      '\\ud83d\\ude00',
      '\\ud83d',
      '\\ude00',
      '\ufeff',
      '😀',
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(character, { minLength: 1, maxLength: 20 }), async (all) => {
      const json = `"${all.join('')}"`;
      const text = JSON.parse(json) as string;
      const content = text === '' ? '' : hashOf(text);
      expect(await digestOf(`{"role":"user","content":${json}}`)).toBe(
        messageDigest({ ...DIGESTED, content }),
      );
    }),
    { seed: 508, numRuns: 1_000 },
  );
});

it('[V508] long names and calls count by their bytes', async () => {
  const named = (text: string): Promise<string> =>
    digestOf(`{"role":"user","name":"${'x'.repeat(2_000)}${text}","content":"a"}`);
  expect(await named('y')).toBe(await named('y'));
  expect(await named('y')).not.toBe(await named('z'));
});
