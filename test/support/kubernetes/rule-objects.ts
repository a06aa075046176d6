import { CustomObjectsApi, type KubeConfig } from '@kubernetes/client-node';
import { NAMESPACE } from '../../../bench/support/kubernetes-objects.ts';

export const KINDS = {
  inferenceobjectives: 'InferenceObjective',
  inferencemodelrewrites: 'InferenceModelRewrite',
} as const;
export type Plural = keyof typeof KINDS;

/** Where the API server has rules of a kind. */
export const where = (
  group: string,
  plural: Plural,
): {
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly plural: Plural;
} => ({
  group,
  version: 'v1alpha2',
  namespace: NAMESPACE,
  plural,
});

export async function createRule(
  config: KubeConfig,
  group: string,
  plural: Plural,
  name: string,
  spec: object,
): Promise<void> {
  const body = {
    apiVersion: `${group}/v1alpha2`,
    kind: KINDS[plural],
    metadata: { name },
    spec: { poolRef: { name: 'pool' }, ...spec },
  };
  const custom = config.makeApiClient(CustomObjectsApi);
  await custom.createNamespacedCustomObject({ ...where(group, plural), body });
}
