import type { V1CustomResourceDefinition } from '@kubernetes/client-node';

/** The fields of KEDA's ScaledObject that manifests may set, and their types, as KEDA defines them. */
type Schema = Readonly<Record<string, unknown>>;

const TEXT = { type: 'string' };
const NUMBER = { type: 'integer', format: 'int32' };
const object = (properties: Schema, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});

const TRIGGER = object(
  {
    type: TEXT,
    name: TEXT,
    metricType: TEXT,
    metadata: { type: 'object', additionalProperties: TEXT },
    authenticationRef: object({ name: TEXT, kind: TEXT }, ['name']),
  },
  ['metadata', 'type'],
);
const SPEC = object(
  {
    scaleTargetRef: object(
      { apiVersion: TEXT, kind: TEXT, name: TEXT, envSourceContainerName: TEXT },
      ['name'],
    ),
    pollingInterval: NUMBER,
    cooldownPeriod: NUMBER,
    idleReplicaCount: NUMBER,
    minReplicaCount: NUMBER,
    maxReplicaCount: NUMBER,
    fallback: object({ failureThreshold: NUMBER, replicas: NUMBER }, [
      'failureThreshold',
      'replicas',
    ]),
    triggers: { type: 'array', items: TRIGGER },
  },
  ['scaleTargetRef', 'triggers'],
);

export const SCALED_OBJECT_DEFINITION: V1CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'scaledobjects.keda.sh' },
  spec: {
    group: 'keda.sh',
    scope: 'Namespaced',
    names: { kind: 'ScaledObject', plural: 'scaledobjects', singular: 'scaledobject' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: object(
            { apiVersion: TEXT, kind: TEXT, metadata: { type: 'object' }, spec: SPEC },
            ['spec'],
          ),
        },
      },
    ],
  },
};
