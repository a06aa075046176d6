import { describe, expect, it } from 'vitest';
import { NaivePrefixNumbers } from '../../../test/support/naive-prefix-numbers.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { SessionFinder } from './find-sessions.ts';
import { blockIdsOf, inBlocksOf, prefixNumbersOf } from './prefix-numbers.ts';
import { RequestTable } from './request-table.ts';
import type { TraceRequest } from './trace.ts';

const SEEDS = [1, 2, 3, 4, 5];

/** Prompts of few ids, most of them consecutive, so that they begin alike and part anywhere. */
function drawPrompts(seed: number): readonly TraceRequest[] {
  const random = seededRandom(seed);
  const upTo = (bound: number): number => Math.floor(bound * random.next());
  return Array.from({ length: 1500 }, () => {
    const far = 2 ** 40 * upTo(2);
    let next = upTo(2);
    const blockIds = Array.from({ length: upTo(12) }, () => {
      next = upTo(5) === 0 ? upTo(3) : next + 1;
      return next === 2 ? 'text' : next + far;
    });
    const model = upTo(2) === 0 ? 'a' : 'b';
    const promptTokens = Math.max(1, blockIds.length);
    return { atMs: 0, model, promptTokens, outputTokens: 1, blockIds };
  });
}

describe('[G249] numbers of the blocks of prompts', () => {
  it.each(SEEDS)('are equal where prompts are equal up to there: seed %i', (seed) => {
    const prompts = drawPrompts(seed);
    const naive = new NaivePrefixNumbers();
    const ours = [...prefixNumbersOf(prompts)].map(blockIdsOf);
    expect(ours).toEqual(prompts.map((prompt) => naive.of(prompt)));
  });

  it.each(SEEDS)('stand for several blocks together, where these are whole: seed %i', (seed) => {
    const each = 3;
    const prompts = drawPrompts(seed);
    const naive = new NaivePrefixNumbers();
    const known = new Map<number, number>();
    let next = 0;
    const expected = prompts.map((prompt) => {
      const numbers = naive.of(prompt);
      return Array.from({ length: Math.ceil(prompt.promptTokens / each) }, (_, at) => {
        const last = numbers[(at + 1) * each - 1];
        const number = last === undefined ? next++ : (known.get(last) ?? next++);
        if (last !== undefined) known.set(last, number);
        return number;
      });
    });
    expect([...inBlocksOf(each, { requests: prompts, blockTokens: 1 })]).toEqual(expected);
  });

  it.each(SEEDS)('say how many blocks an earlier prompt had, too: seed %i', (seed) => {
    const prompts = drawPrompts(seed);
    const finder = new SessionFinder(RequestTable.of(prompts));
    const naive = new NaivePrefixNumbers();
    let distinct = 0;
    for (const prompt of prompts) {
      const numbers = naive.of(prompt);
      const known = numbers.filter((number) => number < distinct).length;
      distinct = Math.max(distinct, 1 + Math.max(-1, ...numbers));
      expect(finder.next(prompt).knownBlocks).toBe(known);
    }
    expect(finder.distinctBlocks).toBe(distinct);
  });

  it.each(SEEDS)('come of a table that gives its requests back: seed %i', (seed) => {
    const prompts = drawPrompts(seed);
    expect([...RequestTable.of(prompts)]).toEqual(prompts);
  });
});
