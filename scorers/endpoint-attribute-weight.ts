import { z } from 'zod';
import { LABEL_ATTRIBUTES } from '../src/framework/endpoint-attributes.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/**
 * Scores by a text that each endpoint has, such as the kind of its accelerator: each value has its
 * weight over the largest weight. A value that is not listed gets the least score.
 */
export const endpointAttributeWeight: ScorerDefinition = defineScorer({
  type: 'endpoint-attribute-weight-scorer',
  config: z.lazy(() =>
    z.strictObject({
      attributeKey: z.string().min(1),
      /**
       * The label-producer that writes the attribute: attributes are found by their names alone.
       */
      producer: z.string().optional(),
      weights: z
        .record(z.string(), z.number().positive())
        .refine((weights) => Object.keys(weights).length > 0, 'must have a weight for some value'),
    }),
  ),
  create({ attributeKey, weights }) {
    const largest = Math.max(...Object.values(weights));
    const scores = new Map(
      Object.entries(weights).map(([value, weight]) => [value, weight / largest]),
    );
    const least = Math.min(...scores.values());
    return {
      score: (endpoints) =>
        endpoints.map((endpoint) => {
          const value = endpoint.attribute(LABEL_ATTRIBUTES).get(attributeKey);
          return typeof value === 'string' ? (scores.get(value) ?? least) : least;
        }),
    };
  },
});
