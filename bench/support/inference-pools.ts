import { ApiextensionsV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import type { ApiServer } from './kubernetes.ts';
import { eventually } from './stack.ts';

export const INFERENCE_GROUP = 'inference.networking.k8s.io';

/** Installs the InferencePool CRD. Its spec has the fields that matter here, or allows anything. */
export async function installInferencePools(
  { config }: Pick<ApiServer, 'config'>,
  takes: 'fields' | 'anything' = 'fields',
): Promise<void> {
  const spec = takes === 'fields' ? FIELDS : ANYTHING;
  const schema = { type: 'object', properties: { spec } };
  await config.makeApiClient(ApiextensionsV1Api).createCustomResourceDefinition({
    body: {
      metadata: {
        name: `inferencepools.${INFERENCE_GROUP}`,
        annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
      },
      spec: {
        group: INFERENCE_GROUP,
        scope: 'Namespaced',
        names: { kind: 'InferencePool', plural: 'inferencepools', singular: 'inferencepool' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } },
        ],
      },
    },
  });
  const custom = config.makeApiClient(CustomObjectsApi);
  const where = {
    group: INFERENCE_GROUP,
    version: 'v1',
    namespace: 'default',
    plural: 'inferencepools',
  };
  await eventually(
    () =>
      custom.listNamespacedCustomObject(where).then(
        () => true,
        () => false,
      ),
    (served) => served,
  );
}

const LABELS = { type: 'object', additionalProperties: { type: 'string' } };
const PORT = { type: 'object', properties: { number: { type: 'integer' } } };
const PICKER = {
  type: 'object',
  required: ['name'],
  properties: {
    group: { type: 'string' },
    kind: { type: 'string' },
    name: { type: 'string', minLength: 1 },
    port: { ...PORT, required: ['number'] },
    failureMode: { type: 'string', enum: ['FailClose', 'FailOpen'] },
  },
};
/** The fields of the Gateway API Inference Extension that matter here. */
const FIELDS = {
  type: 'object',
  properties: {
    endpointPickerRef: PICKER,
    selector: { type: 'object', properties: { matchLabels: LABELS } },
    targetPorts: { type: 'array', items: PORT },
  },
};
const ANYTHING = { type: 'object', x_kubernetes_preserve_unknown_fields: true };
