import { assert, constantFrom, integer, array as list, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { promptOf } from '../../../test/prompt-blocks.ts';
import { HeldPrompts } from './held-prompts.ts';

const SEED = 20_261_122;

/** Prompts of few families, of many lengths, that part at different blocks. */
const prompt = record({
  family: integer({ min: 0, max: 2 }),
  common: integer({ min: 0, max: 40 }),
  own: integer({ min: 0, max: 20 }),
  branch: integer({ min: 1, max: 3 }),
}).map(({ family, common, own, branch }) => [
  ...Array.from({ length: common }, (_, at) => family * 1000 + at),
  ...Array.from({ length: own }, (_, at) => branch * 100_000 + at),
]);

function commonBlocks(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((id, index) => other[index] !== id);
  return at === -1 ? one.length : at;
}

describe('the prompts that wait for an endpoint', () => {
  it(`[Q85] share with another as many tokens as one of them, in steps of 512, seed ${SEED}`, () => {
    const steps = list(record({ kind: constantFrom('add', 'remove', 'ask'), prompt }), {
      maxLength: 60,
    });
    assert(
      property(steps, (given) => {
        const held = new HeldPrompts();
        const waiting: (readonly number[])[] = [];
        for (const step of given) {
          if (step.kind === 'add') {
            held.add(promptOf(...step.prompt));
            waiting.push(step.prompt);
          }
          const first = step.kind === 'remove' ? waiting.shift() : undefined;
          if (first !== undefined) held.remove(promptOf(...first));
          const most = Math.max(0, ...waiting.map((each) => commonBlocks(step.prompt, each)));
          const asked = promptOf(...step.prompt);
          expect(held.sharedTokens(asked)).toBe(512 * Math.floor(most / 8));
        }
      }),
      { seed: SEED },
    );
  });
});
