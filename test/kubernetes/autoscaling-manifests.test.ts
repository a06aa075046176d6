import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

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
