import { ApiextensionsV1Api, CustomObjectsApi, type KubeConfig } from '@kubernetes/client-node';
import { eventually } from './stack.ts';

const poolRef = {
  type: 'object',
  required: ['name'],
  properties: {
    group: { type: 'string', default: 'inference.networking.k8s.io' },
    kind: { type: 'string', default: 'InferencePool' },
    name: { type: 'string', minLength: 1 },
  },
};
const match = {
  type: 'object',
  properties: {
    model: {
      type: 'object',
      required: ['value'],
      properties: {
        type: { type: 'string', default: 'Exact' },
        value: { type: 'string', minLength: 1 },
      },
    },
  },
};
const target = {
  type: 'object',
  required: ['modelRewrite'],
  properties: {
    modelRewrite: { type: 'string', minLength: 1 },
    weight: { type: 'integer', format: 'int32', minimum: 1, maximum: 1_000_000 },
  },
};
const rule = {
  type: 'object',
  properties: {
    matches: { type: 'array', items: match },
    targets: { type: 'array', minItems: 1, items: target },
  },
};
const NAMES = [
  {
    kind: 'InferenceObjective',
    singular: 'inferenceobjective',
    plural: 'inferenceobjectives',
    properties: { poolRef, priority: { type: 'integer', format: 'int32' } },
  },
  {
    kind: 'InferenceModelRewrite',
    singular: 'inferencemodelrewrite',
    plural: 'inferencemodelrewrites',
    properties: { poolRef, rules: { type: 'array', items: rule } },
  },
] as const;

/** InferenceObjective and InferenceModelRewrite in one of their API groups, with the reference's fields and bounds. */
export async function installRuleCrds(config: KubeConfig, group: string): Promise<void> {
  for (const { properties, ...names } of NAMES) {
    const spec = { type: 'object', required: ['poolRef'], properties };
    await installCrd(config, { group, version: 'v1alpha2', names, spec });
  }
}

interface Crd {
  readonly group: string;
  readonly version: string;
  readonly names: { readonly kind: string; readonly singular: string; readonly plural: string };
  /** An OpenAPI schema. */
  readonly spec: object;
}

/** A namespaced kind, ready when this resolves. */
async function installCrd(config: KubeConfig, { group, version, names, spec }: Crd): Promise<void> {
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

export async function removeRuleCrds(config: KubeConfig, group: string): Promise<void> {
  const api = config.makeApiClient(ApiextensionsV1Api);
  for (const { plural } of NAMES) {
    await api.deleteCustomResourceDefinition({ name: `${plural}.${group}` });
  }
}
