import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoscalingV2Api, type V2HorizontalPodAutoscaler } from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { kubernetesOrSkip, startApiServer } from '../../bench/support/kubernetes.ts';

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
