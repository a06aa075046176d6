import { describe, expect, it } from 'vitest';
import { tokenIdsOf } from '../../../stub-server/http/requests/tokenizer.ts';
import type { TraceRequest } from '../traces/trace.ts';
import { madeUpPrompt } from './made-up-prompt.ts';

function request(promptTokens: number, blockIds: readonly (number | string)[]): TraceRequest {
  return { atMs: 0, model: '', promptTokens, outputTokens: 1, blockIds };
}
const options = { blockTokens: 16, salt: 's', index: 0, templateTokens: 0 };

describe('madeUpPrompt', () => {
  it.each([1, 15, 16, 17, 6758])('has exactly %i tokens as the stub counts them', (tokens) => {
    const blockIds = Array.from({ length: Math.floor(tokens / 16) }, (_, id) => id);
    expect(tokenIdsOf(madeUpPrompt(request(tokens, blockIds), options))).toHaveLength(tokens);
  });

  it('is words of three letters behind a space, one a token, that JSON need not escape', () => {
    const text = madeUpPrompt(request(100, [1, 2]), options).toString();
    expect(text).toMatch(/^( [a-z]{3}){100}$/);
    expect(JSON.stringify(text)).toBe(`"${text}"`);
  });

  it('begins alike for as long as the block ids do, and not beyond', () => {
    const one = madeUpPrompt(request(64, [7, 8, 9]), { ...options, index: 1 });
    const other = madeUpPrompt(request(64, [7, 8, 'x']), { ...options, index: 2 });
    expect(one.subarray(0, 128)).toEqual(other.subarray(0, 128));
    for (const from of [128, 192]) {
      expect(one.subarray(from, from + 64)).not.toEqual(other.subarray(from, from + 64));
    }
  });

  it('has behind its full blocks a text of its own, and none of another salt', () => {
    const blocks = request(40, [1, 2]);
    const first = madeUpPrompt(blocks, options);
    expect(madeUpPrompt(blocks, options)).toEqual(first);
    expect(madeUpPrompt(blocks, { ...options, index: 1 }).subarray(128)).not.toEqual(
      first.subarray(128),
    );
    const salted = madeUpPrompt(blocks, { ...options, salt: 't' });
    for (const from of [0, 64]) {
      expect(salted.subarray(from, from + 64)).not.toEqual(first.subarray(from, from + 64));
    }
  });

  it('gives no two of 100,000 blocks the same words', () => {
    const texts = new Set<string>();
    for (let id = 0; id < 100_000; id++) {
      texts.add(madeUpPrompt(request(16, [id]), options).toString('latin1'));
    }
    expect(texts.size).toBe(100_000);
  });

  it('leaves room for what the target puts around it, but writes one token at least', () => {
    expect(madeUpPrompt(request(40, [1, 2]), { ...options, templateTokens: 8 })).toHaveLength(
      4 * 32,
    );
    expect(madeUpPrompt(request(3, []), { ...options, templateTokens: 8 })).toHaveLength(4);
  });
});
