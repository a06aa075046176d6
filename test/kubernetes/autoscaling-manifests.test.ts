import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ApiextensionsV1Api,
  AutoscalingV2Api,
  CustomObjectsApi,
  type V2HorizontalPodAutoscaler,
} from '@kubernetes/client-node';
import { expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { kubernetesOrSkip, startApiServer } from '../../bench/support/kubernetes.ts';
import { SCALED_OBJECT_DEFINITION } from './keda-definition.ts';

const metrics = readFileSync(join(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
const folder = join(import.meta.dirname, '../../deploy/autoscaling');

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: {
    readonly scaleTargetRef: { readonly name: string };
    readonly triggers?: readonly { readonly type: string; readonly metadata: object }[];
    readonly metrics?: readonly object[];
  };
}

it('[Q110] has manifests for KEDA and for a HorizontalPodAutoscaler that name metrics there are', () => {
  const kinds = readdirSync(folder).map((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const { apiVersion, kind, spec } = parse(text) as Manifest;
    expect(spec.scaleTargetRef.name).toBe('vllm');
    expect(spec.triggers ?? spec.metrics).toHaveLength(1);
    for (const [metric] of text.matchAll(/pointsman_\w+/g)) {
      expect(metrics).toContain(`\`${metric}\``);
    }
    return `${apiVersion} ${kind}`;
  });
  expect(kinds.toSorted()).toEqual([
    'autoscaling/v2 HorizontalPodAutoscaler',
    'keda.sh/v1alpha1 ScaledObject',
    'keda.sh/v1alpha1 ScaledObject',
  ]);
});

it('[O383] adds up over several pickers what each of them needs', () => {
  const text = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const { spec } = parse(text('hpa.yaml')) as Manifest;
  const metric = { name: 'pointsman_needed_replicas', selector: { matchLabels: { stage: 'all' } } };
  expect(spec.metrics).toMatchObject([{ external: { metric, target: { averageValue: '1' } } }]);
  const { triggers = [] } = (parse(text('keda-prometheus.yaml')) as Manifest).spec;
  const query = 'sum(pointsman_needed_replicas{stage="all"})';
  expect(triggers).toMatchObject([{ metadata: { query, threshold: '1' } }]);
  // The rule for the adapter is in the head of hpa.yaml.
  expect(text('hpa.yaml')).toContain('metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>})');
});

const binaries = kubernetesOrSkip();

it.skipIf(binaries === undefined)(
  '[Q110] has a HorizontalPodAutoscaler that a real API server takes, without a field that it does not know',
  async () => {
    if (binaries === undefined) return;
    const server = await startApiServer(binaries);
    try {
      const body = parse(
        readFileSync(join(folder, 'hpa.yaml'), 'utf8'),
      ) as V2HorizontalPodAutoscaler;
      const created = await server.config
        .makeApiClient(AutoscalingV2Api)
        .createNamespacedHorizontalPodAutoscaler({
          namespace: 'default',
          body,
          fieldValidation: 'Strict',
        });
      expect(created.spec?.metrics).toHaveLength(1);
    } finally {
      await server.stop();
    }
  },
);

it.skipIf(binaries === undefined)(
  '[O359] has ScaledObjects that a real API server takes by the fields of KEDA, and no other',
  async () => {
    if (binaries === undefined) return;
    const server = await startApiServer(binaries);
    try {
      const definitions = server.config.makeApiClient(ApiextensionsV1Api);
      const objects = server.config.makeApiClient(CustomObjectsApi);
      await definitions.createCustomResourceDefinition({ body: SCALED_OBJECT_DEFINITION });
      const kind = {
        group: 'keda.sh',
        version: 'v1alpha1',
        namespace: 'default',
        plural: 'scaledobjects',
      };
      const create = (name: string, text: string): Promise<unknown> => {
        const body = { ...(parse(text) as Manifest), metadata: { name } };
        const asked = { ...kind, fieldValidation: 'Strict', body };
        return objects.createNamespacedCustomObject(asked);
      };
      await vi.waitFor(() => objects.listNamespacedCustomObject(kind), { timeout: 20_000 });
      for (const file of readdirSync(folder).filter((each) => each.startsWith('keda-'))) {
        const text = readFileSync(join(folder, file), 'utf8');
        await create(file.replace('.yaml', ''), text);
        const misspelt = text.replace('pollingInterval', 'polingInterval');
        await expect(create('misspelt', misspelt)).rejects.toThrow('polingInterval');
        const number = text.replace(/(stage: )all|(threshold: )"1"/, '$1$21');
        await expect(create('number', number)).rejects.toThrow('must be of type string');
      }
    } finally {
      await server.stop();
    }
  },
);
