import type { Registry } from 'prom-client';
import { showMetric } from './family.ts';

/** A counter with these values of one label. The returned function counts one. */
export function countBy(
  registry: Registry,
  label: string,
  values: readonly string[],
  metric: { readonly name: string; readonly help: string },
): (value: string) => void {
  const counts = new Map(values.map((value) => [value, 0]));
  showMetric(registry, { ...metric, type: 'counter' }, () =>
    [...counts].map(([name, value]) => ({ labels: { [label]: name }, value })),
  );
  return (name) => void counts.set(name, (counts.get(name) ?? 0) + 1);
}
