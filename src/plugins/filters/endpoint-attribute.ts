import { z } from 'zod';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { numericAttribute } from '../parameters/numeric-attribute.ts';
import { otherProducer } from '../parameters/producer-name.ts';

const COMPARISONS: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  LessThan: (value, bound) => value < bound,
  LessThanOrEqual: (value, bound) => value <= bound,
  GreaterThan: (value, bound) => value > bound,
  GreaterThanOrEqual: (value, bound) => value >= bound,
  Equal: (value, bound) => value === bound,
  NotEqual: (value, bound) => value !== bound,
};

const threshold = z.lazy(() =>
  z.strictObject({
    operator: z.enum(Object.keys(COMPARISONS) as [string, ...string[]]),
    value: z.number(),
  }),
);

/** Keeps endpoints whose attribute meets the threshold; `onMissing` says what of those without. */
export const endpointAttributeFilter: FilterDefinition = defineFilter({
  type: 'endpoint-attribute-filter',
  config: z.lazy(() =>
    z.strictObject({
      attribute: z.string().min(1),
      /** The plugin that writes the attribute: accepted for compatibility, without effect. */
      producer: otherProducer,
      onMissing: z
        .enum(['Pass', 'Fail', ''])
        .default('Pass')
        .transform((given) => given || 'Pass'),
      fallbackOnEmpty: z.boolean().default(false),
      algorithm: z.strictObject({ type: z.literal('threshold'), threshold }),
    }),
  ),
  create({ attribute, onMissing, fallbackOnEmpty, algorithm }) {
    const { operator, value: bound } = algorithm.threshold;
    const compare = COMPARISONS[operator] ?? (() => true);
    return {
      filter(endpoints, { now }) {
        const kept = endpoints.filter((endpoint) => {
          const value = numericAttribute(endpoint, attribute, now);
          return value === undefined ? onMissing === 'Pass' : compare(value, bound);
        });
        return kept.length === 0 && fallbackOnEmpty ? endpoints : kept;
      },
    };
  },
});
