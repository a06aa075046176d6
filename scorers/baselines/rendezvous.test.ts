import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../test/makers.ts';
import { promptOf } from '../../test/prompt-blocks.ts';
import { rendezvous } from './rendezvous.ts';

const scorer = rendezvous.create(rendezvous.config.parse({ prefixTokens: 128 }), makeRuntime());
const pool = makePool(Array.from({ length: 8 }, () => ({})));

function best(ids: readonly number[], endpoints: typeof pool = pool): string | undefined {
  const request = makeRequest({ prompt: promptOf(...ids) });
  const scores = scorer.score(endpoints, makeContext({ request }));
  return endpoints[scores.indexOf(Math.max(...scores))]?.id;
}

describe('rendezvous-scorer', () => {
  it('sends prompts that begin alike to one endpoint, and others all over the pool', () => {
    expect(best([1, 2, 3, 4])).toBe(best([1, 2, 9, 9, 9]));
    const homes = new Set(Array.from({ length: 200 }, (_, id) => best([id, id])));
    expect(homes.size).toBe(8);
  });

  it('moves only the prompts of an endpoint that goes', () => {
    const without = pool.slice(1);
    for (let id = 0; id < 200; id++) {
      const before = best([id, id]);
      if (before !== pool[0]?.id) expect(best([id, id], without)).toBe(before);
    }
  });
});
