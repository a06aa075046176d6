import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { type Role, servesRole } from '../../framework/roles.ts';

/** Keeps endpoints that decode, including those without a role label. */
export const decodeFilter: FilterDefinition = roleFilter('decode');

/** Keeps endpoints whose role label includes prefill. */
export const prefillFilter: FilterDefinition = roleFilter('prefill');

/** Keeps endpoints whose role label includes encode: they encode images, video or sound. */
export const encodeFilter: FilterDefinition = roleFilter('encode');

function roleFilter(role: Role): FilterDefinition {
  return defineFilter({
    type: `${role}-filter`,
    config: z.strictObject({}),
    create: () => ({
      filter: (endpoints) => {
        const serves = ({ labels }: Endpoint): boolean => servesRole(labels, role);
        // In most pools all do: then there is no other array to make.
        return endpoints.every(serves) ? endpoints : endpoints.filter(serves);
      },
    }),
  });
}
