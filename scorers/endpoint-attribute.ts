import { z } from 'zod';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { numericAttribute } from '../src/plugins/parameters/numeric-attribute.ts';
import { otherProducer } from '../src/plugins/parameters/producer-name.ts';

const fixedRange = z.lazy(() =>
  z
    // A bound that is not given is 0, as in the reference.
    .strictObject({ min: z.number().default(0), max: z.number().default(0) })
    .refine(({ min, max }) => min < max, 'min must be below max'),
);

/** Scores by a metric, linear over a fixed range or the candidates'; 0 where it is missing. */
export const endpointAttribute: ScorerDefinition = defineScorer({
  type: 'endpoint-attribute-scorer',
  config: z.lazy(() =>
    z.strictObject({
      attributeKey: z.string().min(1),
      /** The plugin that writes the attribute: accepted for compatibility, without effect. */
      producer: otherProducer,
      algorithm: z.strictObject({
        type: z.enum(['linear_lower_is_better', 'linear_higher_is_better']),
        normalization: z
          .strictObject({
            fixedRange: fixedRange.optional(),
            adaptiveRange: z.strictObject({}).nullish(),
          })
          .refine(
            ({ fixedRange: fixed, adaptiveRange }) => !(fixed && adaptiveRange),
            'has fixedRange and adaptiveRange; give one of them',
          )
          .default({}),
      }),
    }),
  ),
  create({ attributeKey, algorithm: { type, normalization } }) {
    const higher = type === 'linear_higher_is_better';
    return {
      score(endpoints, { now }) {
        const values = endpoints.map((endpoint) => numericAttribute(endpoint, attributeKey, now));
        const { min, max } = normalization.fixedRange ?? rangeOf(values);
        return values.map((value) => {
          if (value === undefined) return 0;
          if (max <= min) return 1;
          const share = Math.min(1, Math.max(0, (value - min) / (max - min)));
          return higher ? share : 1 - share;
        });
      },
    };
  },
});

function rangeOf(values: readonly (number | undefined)[]): {
  readonly min: number;
  readonly max: number;
} {
  const known = values.filter((value) => value !== undefined);
  return { min: Math.min(...known), max: Math.max(...known) };
}
