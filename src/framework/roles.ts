import type { Endpoint } from './endpoint.ts';

/** The label that names the stages of a request that a model server serves. */
export const ROLE_LABEL = 'llm-d.ai/role';

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

/** A role's minimum of endpoints, and how many are ready. */
export interface RoleMinimum {
  readonly role: string;
  readonly minReady: number;
  /** Ready endpoints that have this role, alone or with others. */
  readonly ready: number;
}

/** A plugin that keeps minimums of roles, for metrics and the log. */
export interface HoldsMinimums {
  roleMinimums(): readonly RoleMinimum[];
}

/** Whether the plugin keeps minimums of roles. */
export function holdsMinimums(plugin: object): plugin is HoldsMinimums {
  return 'roleMinimums' in plugin && typeof plugin.roleMinimums === 'function';
}
