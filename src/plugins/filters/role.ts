import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

/** The label by which a model server says what part of a request it does. */
const ROLE_LABEL = 'llm-d.ai/role';

/** The parts of a request that servers may do for each other. */
export const ROLES = ['prefill', 'decode', 'encode'] as const;
export type Role = (typeof ROLES)[number];

interface Doers {
  /** Values of the label. */
  readonly values: readonly string[];
  /** Whether those do it, too, that have no such label. */
  readonly withoutLabel: boolean;
}

const DOERS: Readonly<Record<Role, Doers>> = {
  prefill: {
    values: ['prefill', 'encode-prefill', 'prefill-decode', 'both', 'encode-prefill-decode'],
    withoutLabel: false,
  },
  decode: {
    values: ['decode', 'prefill-decode', 'both', 'encode-prefill-decode'],
    withoutLabel: true,
  },
  encode: {
    values: ['encode', 'encode-prefill', 'encode-prefill-decode'],
    withoutLabel: false,
  },
};

/** Whether a server with these labels does that part of requests. */
export function doesRole(labels: Endpoint['labels'], role: Role): boolean {
  const value = labels.get(ROLE_LABEL);
  const { values, withoutLabel } = DOERS[role];
  return value === undefined ? withoutLabel : values.includes(value);
}

/** Keeps endpoints that can decode; one without a role does everything. */
export const decodeFilter: FilterDefinition = roleFilter('decode');

/** Keeps endpoints that say they prefill. */
export const prefillFilter: FilterDefinition = roleFilter('prefill');

/** Keeps endpoints that say they encode images, video or sound. */
export const encodeFilter: FilterDefinition = roleFilter('encode');

function roleFilter(role: Role): FilterDefinition {
  return defineFilter({
    type: `${role}-filter`,
    config: z.strictObject({}),
    create: () => ({
      filter: (endpoints) => endpoints.filter(({ labels }) => doesRole(labels, role)),
    }),
  });
}
