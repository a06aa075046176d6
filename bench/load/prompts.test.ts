import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { createPrompts } from './prompts.ts';

describe('createPrompts', () => {
  it.each([1024, 32_768])(
    'makes valid chat requests of exactly %i bytes, no two alike',
    (bytes) => {
      const next = createPrompts({ bodyBytes: bytes, stream: false, random: seededRandom(7) });
      const bodies = Array.from({ length: 20 }, () => {
        const text = next().toString('utf8');
        return text.slice(text.indexOf('\r\n\r\n') + 4);
      });
      expect(bodies.map((body) => Buffer.byteLength(body))).toEqual(bodies.map(() => bytes));
      expect(new Set(bodies).size).toBe(bodies.length);
      const [first] = bodies.map((body) => JSON.parse(body) as { readonly messages: unknown[] });
      expect(first?.messages).toHaveLength(2);
    },
  );
});
