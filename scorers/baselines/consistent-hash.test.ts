import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../test/makers.ts';
import { promptOf } from '../../test/prompt-blocks.ts';
import { consistentHash } from './consistent-hash.ts';

const scorer = consistentHash.create(consistentHash.config.parse({}), makeRuntime());
const pool = makePool(Array.from({ length: 4 }, () => ({})));

function best(id: number, loads: readonly number[] = []): number {
  const request = makeRequest({ prompt: promptOf(id, id, id) });
  const load = loads.map((requests) => ({ requests }));
  const scores = scorer.score(pool, makeContext({ request, load }));
  return scores.indexOf(Math.max(...scores));
}

describe('consistent-hash-scorer', () => {
  it('sends one prompt to one place, and prompts to every place', () => {
    expect(best(7)).toBe(best(7));
    expect(new Set(Array.from({ length: 100 }, (_, id) => best(id))).size).toBe(4);
  });

  it('goes on to the next place when the first has more than its share', () => {
    for (let id = 0; id < 50; id++) {
      const home = best(id);
      const loads = [10, 10, 10, 10];
      expect(best(id, loads)).toBe(home);
      loads[home] = 40;
      expect(best(id, loads)).not.toBe(home);
    }
  });
});
