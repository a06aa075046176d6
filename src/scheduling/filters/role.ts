import { z } from 'zod';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

/** The label by which a model server says what part of a request it does. */
const ROLE_LABEL = 'llm-d.ai/role';

/** Keeps endpoints that can decode; one without a role does everything. */
export const decodeFilter: FilterDefinition = roleFilter('decode-filter', {
  roles: ['decode', 'prefill-decode', 'both', 'encode-prefill-decode'],
  withoutRole: true,
});

/** Keeps endpoints that say they prefill. */
export const prefillFilter: FilterDefinition = roleFilter('prefill-filter', {
  roles: ['prefill', 'encode-prefill', 'prefill-decode', 'both', 'encode-prefill-decode'],
  withoutRole: false,
});

/** Keeps endpoints that say they encode images, video or sound. */
export const encodeFilter: FilterDefinition = roleFilter('encode-filter', {
  roles: ['encode', 'encode-prefill', 'encode-prefill-decode'],
  withoutRole: false,
});

function roleFilter(
  type: string,
  { roles, withoutRole }: { readonly roles: readonly string[]; readonly withoutRole: boolean },
): FilterDefinition {
  return defineFilter({
    type,
    config: z.strictObject({}),
    create: () => ({
      filter: (endpoints) =>
        endpoints.filter(({ labels }) => {
          const role = labels.get(ROLE_LABEL);
          return role === undefined ? withoutRole : roles.includes(role);
        }),
    }),
  });
}
