import { describe, expect, it } from 'vitest';
import { createOpenBody } from '../../src/openai/parsers/open-body.ts';
import { ANSWERS } from './answer-tables.ts';

const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 7 });

function countsIn(path: string, answer: string, chunkBytes: number) {
  const usage = openBody({ id: 'r', path, headers: new Map([[':path', path]]) }).usageReader();
  const bytes = Buffer.from(answer);
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    usage.push(bytes.subarray(at, at + chunkBytes));
  }
  const { promptTokens, completionTokens, cachedTokens } = usage.take() ?? {};
  if (promptTokens === undefined) return undefined;
  return [promptTokens, completionTokens, ...(cachedTokens === undefined ? [] : [cachedTokens])];
}

describe('answers beside the reference’s parsers', () => {
  it.each(ANSWERS)('[P31] $path: $what', ({ path, answer, counts }) => {
    for (const chunkBytes of [1, 1000, 65_536]) {
      expect(countsIn(path, answer, chunkBytes)).toEqual(counts);
    }
  });

  it('[P31] are as many as the documents say', () => {
    const better = ANSWERS.filter(({ better: why }) => why !== undefined);
    // As in docs/conformance.md.
    expect([ANSWERS.length, better.length]).toEqual([38, 3]);
  });
});
