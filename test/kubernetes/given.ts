import type { V1PolicyRule } from '@kubernetes/client-node';
import { NAMESPACE } from '../../bench/support/kubernetes-objects.ts';

/** What charts, operators and tasks of gateways give the reference's picker. */

export const POOLS = 'inference.networking.k8s.io';
export const LEGACY = 'inference.networking.x-k8s.io';
export const CURRENT = 'llm-d.ai';
/** The model to which the rewrite of this group leads. */
export const modelIn = (group: string): string => `chat-of-${group}`;

export const rule = (
  groups: readonly string[],
  resources: readonly string[],
  verbs: readonly string[] = ['get', 'list', 'watch'],
): V1PolicyRule => ({ apiGroups: [...groups], resources: [...resources], verbs: [...verbs] });
export const PODS: V1PolicyRule = rule([''], ['pods']);
export const ALL_OF_LEASES: readonly string[] = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
];

export interface Given {
  readonly rules: readonly V1PolicyRule[];
  readonly args: readonly string[];
  /** The names that liveness, startup and readiness probes ask for. */
  readonly probes: readonly string[];
  /** Whose rewrite counts; undefined: none. */
  readonly counts?: string;
}

export const pool: readonly string[] = ['--pool-name', 'release', '--pool-namespace', NAMESPACE];
export const OWN = 'inference-extension';
export const EXT_PROC = 'envoy.service.ext_proc.v3.ExternalProcessor';

/** Where the configuration’s file, and where its text, stands. */
export const FILE: readonly string[] = ['<file>'];
export const TEXT = '<text>';
