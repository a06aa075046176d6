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

interface Known {
  readonly labels: Endpoint['labels'];
  readonly serves: boolean;
}

function roleFilter(role: Role): FilterDefinition {
  return defineFilter({
    type: `${role}-filter`,
    config: z.strictObject({}),
    create: () => {
      // By slot. The labels of an endpoint are another map once they change.
      const known: Known[] = [];
      const serves = ({ slot, labels }: Endpoint): boolean => {
        const before = known[slot];
        if (before?.labels === labels) return before.serves;
        const now = { labels, serves: servesRole(labels, role) };
        known[slot] = now;
        return now.serves;
      };
      return {
        // In most pools all endpoints serve the role, and then no new array is made.
        filter: (endpoints) => (endpoints.every(serves) ? endpoints : endpoints.filter(serves)),
      };
    },
  });
}
