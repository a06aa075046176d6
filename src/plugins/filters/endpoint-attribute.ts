import { z } from 'zod';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { numericAttribute } from '../parameters/numeric-attribute.ts';
import { onMissing } from '../parameters/on-missing.ts';
import { otherProducer } from '../parameters/producer-name.ts';

const COMPARISONS: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  LessThan: (value, bound) => value < bound,
  LessThanOrEqual: (value, bound) => value <= bound,
  GreaterThan: (value, bound) => value > bound,
  GreaterThanOrEqual: (value, bound) => value >= bound,
  Equal: (value, bound) => value === bound,
  NotEqual: (value, bound) => value !== bound,
};

/** 0 where it is not given, as in the reference. */
const number = z.number().default(0);

const threshold = z.lazy(() =>
  z.strictObject({
    operator: z.enum(Object.keys(COMPARISONS) as [string, ...string[]]),
    value: number,
  }),
);

const share = z.number().min(0).max(100);
const best = z.boolean().default(true);
const atLeastMin = z
  .strictObject({ min: z.number(), max: z.number() })
  .refine(({ min, max }) => min <= max, 'min must not be above max');

/** `range`, `topK` and `percentile` are of releases after 0.10. */
const algorithmSchema = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('threshold'), threshold }),
    z.strictObject({ type: z.literal('range'), range: atLeastMin }),
    z.strictObject({
      type: z.literal('topK'),
      topK: z.strictObject({ k: z.int().positive(), higherIsBetter: best }),
    }),
    z.strictObject({
      type: z.literal('percentile'),
      percentile: z.strictObject({ percentile: share, higherIsBetter: best }),
    }),
  ]),
);

/** Whether an endpoint with this value stays, of all values of the candidates. */
function testOf(
  algorithm: z.output<typeof algorithmSchema>,
  values: readonly number[],
): (value: number) => boolean {
  switch (algorithm.type) {
    case 'threshold': {
      const { operator, value: bound } = algorithm.threshold;
      const compare = COMPARISONS[operator] ?? (() => true);
      return (value) => compare(value, bound);
    }
    case 'range': {
      const { min, max } = algorithm.range;
      return (value) => value >= min && value <= max;
    }
    case 'topK': {
      const { k, higherIsBetter } = algorithm.topK;
      const ranked = values.toSorted((a, b) => (higherIsBetter ? b - a : a - b));
      // Where several have the last value that stays, the first candidates do.
      const left = new Map<number, number>();
      for (const value of ranked.slice(0, k)) left.set(value, (left.get(value) ?? 0) + 1);
      return (value) => {
        const count = left.get(value) ?? 0;
        left.set(value, count - 1);
        return count > 0;
      };
    }
    case 'percentile': {
      const { percentile, higherIsBetter } = algorithm.percentile;
      const ranked = values.toSorted((a, b) => a - b);
      const rank = Math.max(1, Math.ceil((percentile / 100) * ranked.length));
      const cutoff = ranked[rank - 1] ?? 0;
      return (value) => (higherIsBetter ? value >= cutoff : value <= cutoff);
    }
  }
}

/**
 * Keeps endpoints by an attribute, as its algorithm says; `onMissing` says what of those without.
 */
export const endpointAttributeFilter: FilterDefinition = defineFilter({
  type: 'endpoint-attribute-filter',
  config: z.lazy(() =>
    z.strictObject({
      attribute: z.string().min(1),
      /** The plugin that writes the attribute: accepted for compatibility, without effect. */
      producer: otherProducer,
      onMissing,
      fallbackOnEmpty: z.boolean().default(false),
      algorithm: algorithmSchema,
    }),
  ),
  create({ attribute, onMissing, fallbackOnEmpty, algorithm }) {
    return {
      filter(endpoints, { now }) {
        const values = endpoints.map((endpoint) => numericAttribute(endpoint, attribute, now));
        const isKept = testOf(
          algorithm,
          values.filter((value) => value !== undefined),
        );
        const kept = endpoints.filter((_endpoint, at) => {
          const value = values[at];
          return value === undefined ? onMissing === 'Pass' : isKept(value);
        });
        return kept.length === 0 && fallbackOnEmpty ? endpoints : kept;
      },
    };
  },
});
