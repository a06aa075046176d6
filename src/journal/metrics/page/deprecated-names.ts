import type { Registry } from 'prom-client';
import type { Family } from './family.ts';

/** Shows a family under former names of the reference, too; `labels` are those of these names. */
export type ShowFormerNames = <Child>(
  family: Family<Child>,
  use: string,
  names: readonly string[],
  labels: readonly string[],
) => void;

/** Shows nothing where former names are not asked for. `use` is the name without its prefix. */
export function formerNamesOn(registry: Registry, deprecated: boolean): ShowFormerNames {
  return (family, use, names, labels) => {
    if (!deprecated) return;
    const help = formerNameHelp(use, family.help);
    for (const name of names) family.expose(registry, { name, help, labels });
  };
}

/** Groups of metrics whose former names differ in their beginning alone. */
const FORMER_BEGINNINGS: readonly (readonly [now: string, before: readonly string[]])[] = [
  [
    'llm_d_epp_flow_control_',
    ['inference_extension_flow_control_', 'llm_d_router_epp_flow_control_'],
  ],
  ['llm_d_epp_kv_cache_', ['kvcache_', 'llm_d_router_epp_kv_cache_']],
  ['llm_d_epp_datalayer_', ['llm_d_router_epp_datalayer_']],
  ['llm_d_epp_extproc_', ['llm_d_router_epp_extproc_']],
];

/** The former names of a metric of these groups; of no other. */
export function formerNames(name: string): readonly string[] {
  return FORMER_BEGINNINGS.flatMap(([now, before]) =>
    name.startsWith(now) ? before.map((each) => each + name.slice(now.length)) : [],
  );
}

/** `help` is that of the name in use; both without the `[ALPHA]` that precedes every help. */
export function formerNameHelp(use: string, help: string): string {
  return `[Deprecated: Use llm_d_epp_${use}] ${help} Summed over the labels that this name lacks.`;
}
