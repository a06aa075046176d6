import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../test/makers.ts';
import { promptOf } from '../../test/prompt-blocks.ts';
import { dualMap } from './dual-map.ts';

const scorer = dualMap.create(
  dualMap.config.parse({ prefillTokensPerSecond: 1000, ttftSloMs: 2000 }),
  makeRuntime(),
);
const pool = makePool(Array.from({ length: 8 }, () => ({})));
const request = makeRequest({ promptTokens: 192, prompt: promptOf(1, 2, 3) });

function scores(fields: Parameters<typeof makeContext>[0] = {}): readonly number[] {
  return scorer.score(pool, makeContext({ request, ...fields }));
}

describe('dual-map-scorer', () => {
  const [first, second] = [scores().indexOf(1), scores().indexOf(0.5)];
  const at = (values: Readonly<Record<number, number>>): number[] =>
    Array.from({ length: 8 }, (_, index) => values[index] ?? 0);

  it('names two candidates by the prompt’s beginning alone', () => {
    expect([...scores()].sort((a, b) => a - b)).toEqual([0, 0, 0, 0, 0, 0, 0.5, 1]);
    expect(scores()).toEqual(scores());
  });

  it('takes the candidate that holds more of the prompt', () => {
    expect(scores({ matchedBlocks: at({ [second]: 3 }) })[second]).toBe(1);
    expect(scores({ matchedBlocks: at({ [first]: 3, [second]: 1 }) })[first]).toBe(1);
  });

  it('leaves it for the other when its first token would come too late', () => {
    const load = at({ [second]: 2500 }).map((pendingPrefillTokens) => ({ pendingPrefillTokens }));
    expect(scores({ matchedBlocks: at({ [second]: 3 }), load })[first]).toBe(1);
  });
});
