import { ApiextensionsV1Api, CustomObjectsApi, type KubeConfig } from '@kubernetes/client-node';
import { eventually } from '../../../bench/support/stack.ts';

export interface Crd {
  readonly group: string;
  readonly version: string;
  readonly names: { readonly kind: string; readonly singular: string; readonly plural: string };
  /** An OpenAPI schema. */
  readonly spec: object;
}

/** Installs a namespaced kind and resolves when it is ready. */
export async function installCrd(
  config: KubeConfig,
  { group, version, names, spec }: Crd,
): Promise<void> {
  const { plural } = names;
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  const served = { name: version, served: true, storage: true, schema: { openAPIV3Schema } };
  const annotations = { 'api-approved.kubernetes.io': 'unapproved, for a test' };
  await config.makeApiClient(ApiextensionsV1Api).createCustomResourceDefinition({
    body: {
      metadata: { name: `${plural}.${group}`, annotations },
      spec: { group, scope: 'Namespaced', names, versions: [served] },
    },
  });
  const custom = config.makeApiClient(CustomObjectsApi);
  await eventually(
    () =>
      custom.listNamespacedCustomObject({ group, version, namespace: 'default', plural }).then(
        () => true,
        () => false,
      ),
    (listed) => listed,
  );
}
