import type { Registry } from 'prom-client';
import type { Millis } from '../../../framework/runtime.ts';
import { showMetric } from '../page/family.ts';

/** How well a cluster can be followed. */
interface KubernetesFigures {
  readonly troubles: readonly string[];
  readonly ageMs: Millis | undefined;
  readonly readingWaitedMs: Millis;
}

/** Shows on the page how the API server is followed. */
export function registerKubernetesMetrics(registry: Registry, figures: KubernetesFigures): void {
  const show = (type: 'counter' | 'gauge', name: string, help: string, read: () => number): void =>
    showMetric(registry, { name: `pointsman_kubernetes_${name}`, help, type }, () => [
      { labels: {}, value: read() },
    ]);
  show('gauge', 'troubles', 'What is wrong with the Kubernetes API or its objects.', () => {
    return figures.troubles.length;
  });
  show('gauge', 'age_seconds', 'Age of what is known while the API server is away, else 0.', () => {
    return (figures.ageMs ?? 0) / 1000;
  });
  const waited = 'How long answers of the API server have waited because they came too fast.';
  show('counter', 'reading_waited_seconds_total', waited, () => figures.readingWaitedMs / 1000);
}
