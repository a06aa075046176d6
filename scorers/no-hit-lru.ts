import { z } from 'zod';
import { DEFAULT_PREFIX_PRODUCER, prefixMatchKey } from '../src/framework/keys.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { producerName } from '../src/plugins/parameters/producer-name.ts';

/**
 * Spreads prompts that no endpoint has cached: the endpoint that got a cold request longest ago (or
 * never) scores 1, the latest 0. A request with any cache hit scores 0.5 everywhere.
 */
export const noHitLru: ScorerDefinition = defineScorer({
  type: 'no-hit-lru-scorer',
  config: z.strictObject({
    /** Accepted for compatibility, without effect: one number is kept for each endpoint. */
    lruSize: z.int().default(1024),
    /** Names of older versions of the reference, which it reads and does not use. */
    prefixPluginType: z.string().optional(),
    prefixPluginName: z.string().optional(),
    prefixMatchInfoProducerName: producerName(DEFAULT_PREFIX_PRODUCER),
  }),
  needs: ({ prefixMatchInfoProducerName }) => [prefixMatchKey(prefixMatchInfoProducerName)],
  create({ prefixMatchInfoProducerName }) {
    const lastCold: (number | undefined)[] = [];
    let cold = 0;
    return {
      score(endpoints, context) {
        const match = context.get(prefixMatchKey(prefixMatchInfoProducerName));
        if (endpoints.some((endpoint) => match.matchedBlocks(endpoint) > 0)) {
          return endpoints.map(() => 0.5);
        }
        if (endpoints.length === 1) return [1];
        const turns = endpoints.map(({ slot }) => lastCold[slot] ?? 0);
        const ranks = ranksOf(turns);
        return turns.map((turn) => 1 - (ranks.get(turn) ?? 0) / (endpoints.length - 1));
      },
      onRouted({ endpoint, prefill, cachedTokens }) {
        if (cachedTokens > 0) return;
        lastCold[endpoint.slot] = ++cold;
        if (prefill !== undefined) lastCold[prefill.slot] = ++cold;
      },
      onEndpointRemoved({ slot }) {
        lastCold[slot] = undefined;
      },
    };
  },
});

/** For each value, how many values are below it. */
function ranksOf(values: readonly number[]): ReadonlyMap<number, number> {
  const ranks = new Map<number, number>();
  [...values]
    .sort((a, b) => a - b)
    .forEach((value, index) => {
      if (!ranks.has(value)) ranks.set(value, index);
    });
  return ranks;
}
