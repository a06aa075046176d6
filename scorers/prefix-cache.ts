import { z } from 'zod';
import { DEFAULT_PREFIX_PRODUCER, prefixMatchKey } from '../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { producerName } from '../src/plugins/parameters/producer-name.ts';

/**
 * Prefers endpoints that hold more of the prompt: a·min(1, matched tokens/scale)² +
 * (1−a)·matched/total blocks, a being `matchLengthWeight`. A prompt shorter than one block scores 0
 * everywhere.
 */
export const prefixCache: ScorerDefinition = prefixScorer('prefix-cache-scorer');

/** `prefix-cache-scorer` for endpoints that are clusters. */
export const multiclusterPrefixCache: ScorerDefinition = prefixScorer(
  'multicluster-prefix-cache-scorer',
);

function prefixScorer(type: string): ScorerDefinition {
  return defineScorer({
    type,
    config: z.lazy(() =>
      z
        .strictObject({
          prefixMatchInfoProducerName: producerName(DEFAULT_PREFIX_PRODUCER),
          matchLengthWeight: z.number().min(0).max(1).default(0),
          matchLengthScaleTokens: z.int().default(8192),
        })
        .refine((given) => given.matchLengthWeight === 0 || given.matchLengthScaleTokens > 0, {
          path: ['matchLengthScaleTokens'],
          message: 'must be above 0 where matchLengthWeight is',
        }),
    ),
    needs: ({ prefixMatchInfoProducerName }) => [prefixMatchKey(prefixMatchInfoProducerName)],
    create: ({ prefixMatchInfoProducerName, matchLengthWeight, matchLengthScaleTokens }) => ({
      score(endpoints, context) {
        const match = context.get(prefixMatchKey(prefixMatchInfoProducerName));
        if (match.totalBlocks === 0) return endpoints.map(() => 0);
        return endpoints.map((endpoint) => {
          const blocks = match.matchedBlocks(endpoint);
          const share = blocks / match.totalBlocks;
          if (matchLengthWeight === 0) return share;
          const length = Math.min(1, (blocks * match.blockTokens) / matchLengthScaleTokens);
          return matchLengthWeight * length ** 2 + (1 - matchLengthWeight) * share;
        });
      },
    }),
  });
}
