import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Observer } from '../../framework/observer.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { type HoldsMinimums, ROLES, type Role, servesRole } from '../../framework/roles.ts';
import type { Filter } from '../../framework/scheduling.ts';

const count = z.int().min(1).exactOptional();
type MinReady = Partial<Readonly<Record<Role, number>>>;
const minReady: z.ZodType<MinReady> = z
  .strictObject({ prefill: count, decode: count, encode: count })
  .refine((roles) => Object.keys(roles).length > 0, 'give prefill, decode or encode a number');

/**
 * Keeps no endpoint while the pool has fewer endpoints of a role than `minReady`, and otherwise
 * keeps all. In the prefill profile, requests are then served by decode alone; in the decode
 * profile, they are refused.
 */
export const roleMinimumFilter: FilterDefinition = defineFilter({
  type: 'role-minimum-filter',
  config: z.strictObject({ minReady }),
  create: ({ minReady: minimums }): Filter & Observer & HoldsMinimums => {
    const held = ROLES.flatMap((role) => {
      const least = minimums[role];
      return least === undefined ? [] : [{ role, minReady: least, ready: 0 }];
    });
    const add = ({ labels }: Endpoint, by: 1 | -1): void => {
      for (const each of held) if (servesRole(labels, each.role)) each.ready += by;
    };
    return {
      filter: (endpoints) => (held.every((each) => each.ready >= each.minReady) ? endpoints : []),
      onEndpointAdded: (endpoint) => add(endpoint, 1),
      onEndpointRemoved: (endpoint) => add(endpoint, -1),
      onEndpointChanged: (endpoint, previous) => {
        if (endpoint.labels === previous.labels) return;
        add(previous, -1);
        add(endpoint, 1);
      },
      roleMinimums: () => held.map((each) => ({ ...each })),
    };
  },
});
