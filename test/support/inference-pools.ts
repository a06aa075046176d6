import { ApiextensionsV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import type { ApiServer } from './kubernetes.ts';
import { eventually } from './stack.ts';

export const INFERENCE_GROUP = 'inference.networking.k8s.io';

/** The fields of the Gateway API inference extension's InferencePool that matter here. */
export async function installInferencePools({ config }: ApiServer): Promise<void> {
  const labels = { type: 'object', additionalProperties: { type: 'string' } };
  const port = { type: 'object', properties: { number: { type: 'integer' } } };
  const spec = {
    type: 'object',
    properties: {
      selector: { type: 'object', properties: { matchLabels: labels } },
      targetPorts: { type: 'array', items: port },
    },
  };
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
