import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../test/makers.ts';
import { dynamoCost } from './dynamo-cost.ts';

const pool = makePool([{}, {}]);
const request = makeRequest({ promptTokens: 640 });

function scores(parameters: object, seed = 1): readonly number[] {
  const scorer = dynamoCost.create(dynamoCost.config.parse(parameters), makeRuntime());
  const context = makeContext({
    request,
    load: [{ contextTokens: 640 }, {}],
    matchedBlocks: [10, 0],
    random: seededRandom(seed),
  });
  return scorer.score(pool, context);
}

describe('dynamo-cost-scorer', () => {
  it('adds blocks to prefill, weighed, to blocks that decode', () => {
    // 0 × w + 80 against 40 × w + 40 blocks.
    expect(scores({})).toEqual([1, 1]);
    expect(scores({ prefillLoadScale: 3 })).toEqual([1, 0.5]);
    expect(scores({ prefillLoadScale: 0.5 })).toEqual([0.75, 1]);
  });

  it('draws by the costs when it has a temperature, the more evenly the higher it is', () => {
    const firsts = (temperature: number): number =>
      Array.from({ length: 400 }, (_, seed) =>
        scores({ prefillLoadScale: 3, temperature }, seed).indexOf(1),
      ).filter((index) => index === 0).length;
    expect(firsts(0.01)).toBe(400);
    // Costs of 0.5 and 1 at temperature 1: e^0.5 to 1 is 62 %.
    expect(firsts(1) / 400).toBeGreaterThan(0.55);
    expect(firsts(1) / 400).toBeLessThan(0.7);
    expect(firsts(100) / 400).toBeLessThan(0.57);
  });
});
