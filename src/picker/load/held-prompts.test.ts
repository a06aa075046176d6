import { assert, constantFrom, integer, array as list, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { promptOf } from '../../../test/prompt-blocks.ts';
import type { SharedBeginning } from '../../framework/values/shared-beginning.ts';
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

describe('the prompts that wait for endpoints', () => {
  it(`[Q85] share with another as many tokens as one of them, in steps of 512, seed ${SEED}`, () => {
    const kind = constantFrom('add', 'remove', 'ask', 'ask for itself');
    const place = integer({ min: 0, max: 2 });
    const steps = list(record({ kind, prompt, place }), { maxLength: 60 });
    assert(
      property(steps, (given) => {
        const held = new HeldPrompts();
        const waiting: { readonly prompt: readonly number[]; readonly place: number }[] = [];
        for (const step of given) {
          if (step.kind === 'add') {
            held.add(promptOf(...step.prompt), step.place);
            waiting.push(step);
          }
          const first = step.kind === 'remove' ? waiting.shift() : undefined;
          if (first !== undefined) held.remove(promptOf(...first.prompt), first.place);
          const itself = step.kind === 'ask for itself' ? waiting[0] : undefined;
          const asked = itself?.prompt ?? step.prompt;
          const most = new Map<number, SharedBeginning>();
          for (const each of waiting) {
            const tokens = 512 * Math.floor(commonBlocks(asked, each.prompt) / 8);
            const known = most.get(each.place) ?? { tokens: 1, requests: 0 };
            if (each === itself || tokens < known.tokens) continue;
            const requests = tokens === known.tokens ? known.requests + 1 : 1;
            most.set(each.place, { tokens, requests });
          }
          expect(held.sharedWith(promptOf(...asked), itself?.place)).toEqual(most);
        }
      }),
      { seed: SEED },
    );
  });
});
