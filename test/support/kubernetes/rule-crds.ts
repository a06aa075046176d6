import { ApiextensionsV1Api, type KubeConfig } from '@kubernetes/client-node';
import { installCrd } from './install-crd.ts';

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

/**
 * InferenceObjective and InferenceModelRewrite in one of their API groups, with the reference's
 * fields and limits.
 */
export async function installRuleCrds(config: KubeConfig, group: string): Promise<void> {
  for (const { properties, ...names } of NAMES) {
    const spec = { type: 'object', required: ['poolRef'], properties };
    await installCrd(config, { group, version: 'v1alpha2', names, spec });
  }
}

export async function removeRuleCrds(config: KubeConfig, group: string): Promise<void> {
  const api = config.makeApiClient(ApiextensionsV1Api);
  for (const { plural } of NAMES) {
    await api.deleteCustomResourceDefinition({ name: `${plural}.${group}` });
  }
}
