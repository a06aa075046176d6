import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonUsage } from './json-usage.ts';

function usageOf(...chunks: readonly string[]) {
  const usage = new JsonUsage();
  for (const chunk of chunks) usage.push(Buffer.from(chunk));
  return usage.take();
}

describe('the usage of a JSON answer', () => {
  it('[P31] reads the names of OpenAI and of Anthropic', () => {
    expect(
      usageOf('{"usage":{"prompt_tokens":3,"completion_tokens":5,"prompt_tokens_details":null}}'),
    ).toMatchObject({ promptTokens: 3, completionTokens: 5, cachedTokens: undefined });
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

  it('[Q380] may leave out a count of 0 in completions, and in no other answer', () => {
    const leavesOut = (...chunks: readonly string[]) => usageOf(...chunks)?.leavesOutZero ?? false;
    const counts = '"completion_tokens":5,"prompt_tokens_details":';
    expect(leavesOut(`{"usage":{"prompt_tokens":3,${counts}null}}`)).toBe(true);
    expect(leavesOut(`{"usage":{"prompt_tokens":3,${counts}{"cached_tokens":2}}}`)).toBe(true);
    const embedding = '{"usage":{"prompt_tokens":3,"completion_tokens":0}}';
    expect(leavesOut(embedding)).toBe(false);
    expect(leavesOut('{"usage":{"input_tokens":3,"output_tokens":5}}')).toBe(false);
    const generate = new JsonUsage('meta_info');
    generate.push(Buffer.from('{"meta_info":{"prompt_tokens":3,"completion_tokens":5}}'));
    expect(generate.take()?.leavesOutZero).toBeUndefined();
  });

  it('[P31] takes the prompt’s tokens from the first event where the last does not have them', () => {
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
    expect(usageOf('{"usage":{"prompt_tokens":-1,"completion_tokens":null}}')).toBeUndefined();
    expect(usageOf('{"usage":{"prompt_tokens":1e300,"completion_tokens":"many"}}')).toBeUndefined();
    expect(usageOf('{"reusage":{"prompt_tokens":1}}')).toBeUndefined();
    expect(usageOf('{"usage":{"prompt_tokens":1,"compl')).toBeUndefined();
    expect(usageOf()).toBeUndefined();
  });

  it('[P31] counts what is given where one of the two counts is left out', () => {
    expect(usageOf('{"data":[],"usage":{"prompt_tokens":7,"total_tokens":7}}')).toEqual({
      promptTokens: 7,
      completionTokens: 0,
      cachedTokens: undefined,
    });
    expect(usageOf('{"usage":{"completion_tokens":9}}')).toMatchObject({
      promptTokens: 0,
      completionTokens: 9,
    });
  });

  it('[P31] reads counts that are texts, and those with a fraction as whole tokens', () => {
    expect(usageOf('{"usage":{"prompt_tokens":"1024","completion_tokens":10.9}}')).toMatchObject({
      promptTokens: 1024,
      completionTokens: 10,
    });
  });

  it('[P31] finds the counts of the first and the last event of a long stream', () => {
    const text = 'data: {"type":"content_block_delta","delta":{"text":"hello"}}\n\n'.repeat(1000);
    const first = 'data: {"message":{"usage":{"input_tokens":11,"cache_read_input_tokens":4}}}\n\n';
    const last = 'data: {"usage":{"output_tokens":40}}\n\n';
    expect(usageOf(first, text, last)).toEqual({
      promptTokens: 11,
      completionTokens: 40,
      cachedTokens: 4,
    });
  });

  it('[P31] takes the last counts of a stream that counts in every event', () => {
    const events = Array.from(
      { length: 300 },
      (_, n) => `data: {"usage":{"prompt_tokens":20,"completion_tokens":${n + 1}}}\n\n`,
    );
    expect(usageOf(...events)).toMatchObject({ promptTokens: 20, completionTokens: 300 });
  });

  it('[P31] finds the usage anywhere in an answer, however it was cut into chunks', () => {
    const end = '"usage":{"prompt_tokens":12,"completion_tokens":34},';
    fc.assert(
      fc.property(
        fc.nat({ max: 30_000 }),
        fc.nat({ max: 30_000 }),
        fc.array(fc.integer({ min: 1, max: 12_000 }), { minLength: 1, maxLength: 20 }),
        (before, after, sizes) => {
          const text = 'x'.repeat(before) + end + 'y'.repeat(after);
          const chunks: string[] = [];
          for (let at = 0, n = 0; at < text.length; n++) {
            const size = sizes[n % sizes.length] ?? 1;
            chunks.push(text.slice(at, at + size));
            at += size;
          }
          expect(usageOf(...chunks)).toMatchObject({ promptTokens: 12, completionTokens: 34 });
        },
      ),
      // The first quote of the key is the last byte that leaves the window.
      { examples: [[10_239, 6094, [1]]], seed: 856 },
    );
  });
});
