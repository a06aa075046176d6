import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { mediaItems } from '../prompts/media-items.ts';
import { readPrompt } from '../read-prompt.ts';
import { parseBounded } from './parse-bounded.ts';

const bytesOf = (text: string): readonly Uint8Array[] => [Buffer.from(text)];
/** Longer than what is parsed without a look at its parts. */
const LONG = 'x'.repeat(200_000);

describe('a JSON body that is parsed in one piece', () => {
  it.each([
    ['arrays', `[${'[],'.repeat(100_001)}1]`],
    ['objects', `[${'{},'.repeat(100_001)}1]`],
    ['members', `{${Array.from({ length: 100_001 }, (_, at) => `"${at}":1`).join()}}`],
    ['elements', `[${'1,'.repeat(1_000_001)}1]`],
    ['bytes', `"${'x'.repeat(16 * 1024 * 1024)}"`],
  ])('[V135] is not parsed where it has too many %s', (_, text) => {
    expect(() => JSON.parse(text)).not.toThrow();
    expect(parseBounded(bytesOf(text))).toBeUndefined();
  });

  it('[V135] may have any characters in strings, and be in any pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.nat(), (texts, cut) => {
        const value = [...texts, '[{:,"\\'.repeat(60_000), LONG];
        const whole = Buffer.from(JSON.stringify(value));
        const at = cut % whole.length;
        expect(parseBounded([whole.subarray(0, at), whole.subarray(at)])).toEqual(value);
      }),
      { seed: 135, numRuns: 20 },
    );
  });

  it('[V135] is none where it is no JSON', () => {
    for (const text of ['', '{', `[${LONG}`, `"${LONG}`, `"${LONG}\\`]) {
      expect(parseBounded(bytesOf(text))).toBeUndefined();
    }
  });

  it('[V135] has no media and no prompt for a tokenizer where it is nothing but brackets', () => {
    const body = bytesOf(`{"messages":[${'[],'.repeat(3_000_000)}[]]}`);
    const headers = new Map([
      [':method', 'POST'],
      [':path', '/v1/chat/completions'],
    ]);
    expect(mediaItems(body)).toEqual([]);
    expect(readPrompt(makeRequest({ headers }), body)).toEqual({
      kind: 'none',
      reason: 'unknown-body',
    });
  });
});
