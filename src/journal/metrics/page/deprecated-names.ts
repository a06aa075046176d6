import type { Registry } from 'prom-client';
import type { Family } from './family.ts';

/** Shows a family under former names of the reference, too; `labels` are those of these names. */
export type ShowTwins = <Child>(
  family: Family<Child>,
  use: string,
  names: readonly string[],
  labels: readonly string[],
) => void;

/** Shows nothing where former names are not asked for. `use` is the name without its prefix. */
export function showTwins(registry: Registry, deprecated: boolean): ShowTwins {
  return (family, use, names, labels) => {
    if (!deprecated) return;
    for (const name of names) family.expose(registry, { name, help: twinHelp(use), labels });
  };
}

/** Without the `[ALPHA]` that precedes every help. */
export function twinHelp(use: string): string {
  return `[Deprecated: Use llm_d_epp_${use}] The same, summed over the labels it lacks.`;
}
