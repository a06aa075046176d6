import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageTail } from './usage-tail.ts';

function usageOf(...chunks: readonly string[]) {
  const tail = new UsageTail();
  for (const chunk of chunks) tail.push(Buffer.from(chunk));
  return tail.take();
}

describe('the usage tail', () => {
  it('[P31] reads the names of OpenAI and of Anthropic', () => {
    expect(
      usageOf('{"usage":{"prompt_tokens":3,"completion_tokens":5,"prompt_tokens_details":null}}'),
    ).toEqual({ promptTokens: 3, completionTokens: 5, cachedTokens: undefined });
    expect(
      usageOf(
        '{"usage": {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 2}, "x": 1}',
      ),
    ).toEqual({ promptTokens: 3, completionTokens: 5, cachedTokens: 2 });
    expect(
      usageOf(
        '"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":1}',
      ),
    ).toEqual({ promptTokens: 9, completionTokens: 1, cachedTokens: 4 });
  });

  it('[P31] takes the prompt’s tokens from the first event where the last does not tell them', () => {
    expect(
      usageOf(
        'data: {"message":{"usage":{"input_tokens":11,"output_tokens":1}}}\n\n',
        'data: {"usage":{"output_tokens":40}}\n\n',
      ),
    ).toEqual({ promptTokens: 11, completionTokens: 40, cachedTokens: undefined });
  });

  it('[P31] is not taken in by an answer that talks of usage, or by a null', () => {
    expect(
      usageOf(
        '{"usage":{"prompt_tokens":1,"completion_tokens":2},"text":"\\"usage\\":{\\"prompt_tokens\\":9}"}',
      ),
    ).toMatchObject({ promptTokens: 1 });
    expect(usageOf('{"usage":null}')).toBeUndefined();
    expect(usageOf('{"usage":{"prompt_tokens":-1,"completion_tokens":"2"}}')).toBeUndefined();
    expect(usageOf('{"usage":{"prompt_tokens":1,"compl')).toBeUndefined();
    expect(usageOf()).toBeUndefined();
  });

  it('finds the usage at the end however the answer was cut into chunks', () => {
    const end = '"usage":{"prompt_tokens":12,"completion_tokens":34}}\n\ndata: [DONE]\n\n';
    fc.assert(
      fc.property(
        fc.nat({ max: 30_000 }),
        fc.array(fc.integer({ min: 1, max: 12_000 }), { minLength: 1, maxLength: 20 }),
        (before, sizes) => {
          const text = 'x'.repeat(before) + end;
          const chunks: string[] = [];
          for (let at = 0, n = 0; at < text.length; n++) {
            const size = sizes[n % sizes.length] ?? 1;
            chunks.push(text.slice(at, at + size));
            at += size;
          }
          expect(usageOf(...chunks)).toMatchObject({ promptTokens: 12, completionTokens: 34 });
        },
      ),
    );
  });
});
