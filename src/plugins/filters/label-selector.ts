import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

const expression = z.lazy(() =>
  z
    .strictObject({
      key: z.string().min(1),
      operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
      values: z.array(z.string()).default([]),
    })
    .refine(
      ({ operator, values }) => (operator === 'In' || operator === 'NotIn') === values.length > 0,
      'In and NotIn need values; Exists and DoesNotExist take none',
    ),
);

const selector = z.lazy(() =>
  z.strictObject({
    matchLabels: z.record(z.string(), z.string()).default({}),
    matchExpressions: z.array(expression).default([]),
  }),
);

/** One of `matchExpressions`, without its key. */
interface LabelRequirement {
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[] | null | undefined;
}

/** Keeps endpoints whose labels match a Kubernetes label selector. */
export const labelSelectorFilter: FilterDefinition = labelSelector('label-selector-filter');

/** The reference's deprecated name of the same filter. */
export const byLabelSelectorFilter: FilterDefinition = labelSelector('by-label-selector');

/** Keeps endpoints whose label has one of the values; deprecated in favour of label selectors. */
export const byLabelFilter: FilterDefinition = defineFilter({
  type: 'by-label',
  config: z.lazy(() =>
    z
      .strictObject({
        label: z.string().min(1),
        validValues: z.array(z.string()).default([]),
        allowsNoLabel: z.boolean().default(false),
      })
      .refine(({ validValues, allowsNoLabel }) => validValues.length > 0 || allowsNoLabel, {
        path: ['validValues'],
        message: 'is empty, so that no endpoint could stay; give values, or set allowsNoLabel',
      }),
  ),
  create: ({ label, validValues, allowsNoLabel }) => ({
    filter: (endpoints) =>
      endpoints.filter(({ labels }) => {
        const value = labels.get(label);
        return value === undefined ? allowsNoLabel : validValues.includes(value);
      }),
  }),
});

function labelSelector(type: string): FilterDefinition {
  return defineFilter({
    type,
    config: selector,
    create({ matchLabels, matchExpressions }) {
      const wanted = Object.entries(matchLabels);
      const matches = ({ labels }: Endpoint): boolean =>
        wanted.every(([name, value]) => labels.get(name) === value) &&
        matchExpressions.every((each) => meetsRequirement(each, labels.get(each.key)));
      return { filter: (endpoints) => endpoints.filter(matches) };
    },
  });
}

/**
 * Whether a label with this value, or none, is as a requirement of a Kubernetes label selector
 * asks.
 */
export function meetsRequirement(
  { operator, values }: LabelRequirement,
  value: string | undefined,
): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && (values ?? []).includes(value);
    case 'NotIn':
      return value === undefined || !(values ?? []).includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
