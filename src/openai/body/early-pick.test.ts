import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InferenceRequest } from '../../framework/request.ts';
import { createOpenBody } from '../parsers/open-body.ts';

const SEED = 20_261_123;
const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 7 });

/** The request as known after so many bytes, and at the end. */
function readTwice(
  body: string,
  earlyBytes: number,
): { readonly early: InferenceRequest; readonly whole: InferenceRequest } {
  const bytes = Buffer.from(body);
  const headers = new Map([['content-length', String(bytes.length)]]);
  const reader = openBody({ id: 'r', path: '/v1/chat/completions', headers });
  reader.push(bytes.subarray(0, earlyBytes));
  const early = reader.peek();
  reader.push(bytes.subarray(earlyBytes));
  return { early, whole: reader.end() };
}

const MESSAGES = [
  { role: 'user', content: 'How are the words of this long document? '.repeat(200) },
];

/** Each of them makes another prompt of equal messages. */
const OTHERS: Readonly<Record<string, unknown>> = {
  model: 'another-model',
  cache_salt: 'another tenant',
  tools: [{ type: 'function', function: { name: 'search', description: 'x'.repeat(400) } }],
};

const BEFORE = { model: 'm', max_tokens: 100, stream: true };

function firstBlock({ prompt }: InferenceRequest): readonly number[] {
  return Array.from(prompt.words.subarray(0, 2));
}

describe('what is known of a body before its end', () => {
  it('[B200] is the beginning of its blocks, if model, tools and salt come before the prompt', () => {
    const fields = fc.record(
      { model: fc.string(), cache_salt: fc.string(), tools: fc.constant(OTHERS['tools']) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fields, fc.integer({ min: 1000, max: 8000 }), (chosen, earlyBytes) => {
        const body = JSON.stringify({
          ...BEFORE,
          ...chosen,
          model: `m${chosen.model}`,
          messages: MESSAGES,
        });
        const { early, whole } = readTwice(body, earlyBytes);
        const known = 2 * early.prompt.count;
        expect(early.prompt.words.subarray(0, known)).toEqual(
          whole.prompt.words.subarray(0, known),
        );
        expect([early.model, early.outputTokensMax]).toEqual([whole.model, 100]);
      }),
      { seed: SEED, numRuns: 100 },
    );
  });

  it.each(Object.keys(OTHERS))(
    '[B201] may all change by %s behind the prompt, from the first block on',
    (name) => {
      const before = Object.entries(BEFORE).filter(([field]) => field !== name);
      const body = { ...Object.fromEntries(before), messages: MESSAGES, [name]: OTHERS[name] };
      const { early, whole } = readTwice(JSON.stringify(body), 4000);
      expect(early.prompt.count).toBeGreaterThan(10);
      expect(firstBlock(early)).not.toEqual(firstBlock(whole));
    },
  );
});
