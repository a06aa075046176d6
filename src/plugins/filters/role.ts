import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

/** The label that names the stages of a request that a model server serves. */
const ROLE_LABEL = 'llm-d.ai/role';

/** The stages of a request that a server may serve for another. */
export const ROLES = ['prefill', 'decode', 'encode'] as const;
export type Role = (typeof ROLES)[number];

interface RoleLabels {
  /** The label values of servers that serve the stage. */
  readonly values: readonly string[];
  /** Whether servers without the label serve it, too. */
  readonly withoutLabel: boolean;
}

const ROLE_LABELS: Readonly<Record<Role, RoleLabels>> = {
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

/** Whether a server with these labels serves that stage. */
export function servesRole(labels: Endpoint['labels'], role: Role): boolean {
  const value = labels.get(ROLE_LABEL);
  const { values, withoutLabel } = ROLE_LABELS[role];
  return value === undefined ? withoutLabel : values.includes(value);
}

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
      filter: (endpoints) => endpoints.filter(({ labels }) => servesRole(labels, role)),
    }),
  });
}
