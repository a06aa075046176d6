import type { KubeConfig } from '@kubernetes/client-node';
import { installInferencePools } from '../../../bench/support/inference-pools.ts';
import { installCrd } from './install-crd.ts';

const text = { type: 'string', minLength: 1 };
const named = {
  type: 'object',
  required: ['name'],
  properties: { group: { type: 'string' }, kind: text, name: text, port: { type: 'integer' } },
};
const labels = { type: 'object', additionalProperties: { type: 'string' } };
const duration = { type: 'string', pattern: '^([0-9]+(ms|s|m|h))+$' };

const route = {
  type: 'object',
  properties: {
    parentRefs: { type: 'array', items: named },
    rules: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          backendRefs: { type: 'array', items: named },
          timeouts: { type: 'object', properties: { request: duration, backendRequest: duration } },
        },
      },
    },
  },
};
const authorization = {
  type: 'object',
  properties: {
    credentials: { type: 'object', properties: { name: text, key: text }, required: ['key'] },
  },
};
const monitor = {
  type: 'object',
  required: ['selector', 'endpoints'],
  properties: {
    selector: { type: 'object', properties: { matchLabels: labels } },
    endpoints: {
      type: 'array',
      items: {
        type: 'object',
        properties: { port: text, path: text, interval: duration, authorization },
      },
    },
  },
};
/** The pod template in it is checked like a pod. */
const podTemplate = { type: 'object', x_kubernetes_preserve_unknown_fields: true };
const set = {
  type: 'object',
  required: ['leaderWorkerTemplate'],
  properties: {
    replicas: { type: 'integer' },
    leaderWorkerTemplate: {
      type: 'object',
      required: ['workerTemplate'],
      properties: {
        size: { type: 'integer', minimum: 1 },
        restartPolicy: { type: 'string', enum: ['Default', 'RecreateGroupOnPodRestart', 'None'] },
        leaderTemplate: podTemplate,
        workerTemplate: podTemplate,
      },
    },
  },
};

/** The kinds of the manifests that an API server does not have built in, with their fields. */
export async function installManifestCrds(config: KubeConfig): Promise<void> {
  await installInferencePools({ config });
  const kind = (name: string): { kind: string; singular: string; plural: string } => ({
    kind: name,
    singular: name.toLowerCase(),
    plural: `${name.toLowerCase()}s`,
  });
  const crds = [
    { group: 'gateway.networking.k8s.io', version: 'v1', names: kind('HTTPRoute'), spec: route },
    { group: 'monitoring.coreos.com', version: 'v1', names: kind('ServiceMonitor'), spec: monitor },
    { group: 'leaderworkerset.x-k8s.io', version: 'v1', names: kind('LeaderWorkerSet'), spec: set },
  ];
  for (const crd of crds) await installCrd(config, crd);
}
