import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

const WORD = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Whether a label of Kubernetes can have this name. */
function isName(name: string): boolean {
  const [word = '', domain, ...more] = name.split('/').reverse();
  return WORD.test(word) && (domain === undefined || DOMAIN.test(domain)) && more.length === 0;
}

function isValue(value: string): boolean {
  return value === '' || WORD.test(value);
}

const labelName = z.string().refine(isName, { error: ({ input }) => notName(String(input)) });
const labelValue = z.string().refine(isValue, { error: ({ input }) => notValue(String(input)) });

function notName(name: string): string {
  return `${JSON.stringify(name)} can be the name of no label: write up to 63 letters, digits, - _ and ., behind a domain and / where it has one`;
}

function notValue(value: string): string {
  return `${JSON.stringify(value)} can be the value of no label: write up to 63 letters, digits, - _ and .`;
}

const expression = z.lazy(() =>
  z
    .strictObject({
      key: labelName,
      operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
      values: z.array(labelValue).default([]),
    })
    .refine(
      ({ operator, values }) => (operator === 'In' || operator === 'NotIn') === values.length > 0,
      'In and NotIn need values; Exists and DoesNotExist take none',
    ),
);

const selector = z.lazy(() =>
  z.strictObject({
    matchLabels: z
      .record(z.string(), labelValue)
      .superRefine((labels, context) => {
        for (const name of Object.keys(labels)) {
          if (isName(name)) continue;
          context.addIssue({ code: 'custom', path: [name], message: notName(name) });
        }
      })
      .default({}),
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
