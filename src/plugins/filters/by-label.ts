import { z } from 'zod';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

/** Keeps endpoints whose label has one of the values; deprecated in favour of label selectors. */
export const byLabelFilter: FilterDefinition = defineFilter({
  type: 'by-label',
  config: z.strictObject({
    label: z.string().min(1),
    validValues: z.array(z.string()).default([]),
    allowsNoLabel: z.boolean().default(false),
  }),
  create: ({ label, validValues, allowsNoLabel }) => ({
    filter: (endpoints) =>
      endpoints.filter(({ labels }) => {
        const value = labels.get(label);
        return value === undefined ? allowsNoLabel : validValues.includes(value);
      }),
  }),
});
