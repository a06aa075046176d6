import { describe, expect, it } from 'vitest';
import { promptText } from './prompt-text.ts';

const row = { timestampMs: 0, outputTokens: 1 };

describe('promptText', () => {
  it('has four bytes for each token', () => {
    expect(promptText({ ...row, inputTokens: 700, hashIds: [1, 2] })).toHaveLength(2800);
  });

  it('is the same text as far as the ids are the same, and no further', () => {
    const one = promptText({ ...row, inputTokens: 1024, hashIds: [1, 2] });
    const other = promptText({ ...row, inputTokens: 1024, hashIds: [1, 3] });
    expect(one.slice(0, 2048)).toBe(other.slice(0, 2048));
    expect(one.slice(2048, 2048 + 12)).not.toBe(other.slice(2048, 2048 + 12));
  });
});
