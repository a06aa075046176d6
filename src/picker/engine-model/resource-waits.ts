import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { waitsForSlot } from '../../cost-model/slot-wait.ts';
import { CACHE_CONFIG, LORA } from '../../framework/endpoint-attributes.ts';
import type { Routed } from '../../framework/observer.ts';
import type { AdapterNames } from './adapter-names.ts';

/** With more KV memory in use, a request may wait for memory, which says nothing about speed. */
const MEMORY_SHARE_MAX = 0.85;

/** Whether the first token may have waited for the end of another request, or an adapter's slot. */
export function mayWaitForResources(routed: Routed, adapters: Pick<AdapterNames, 'has'>): boolean {
  return waitsForSlot(routed.load) || mayWaitForAdapter(routed, adapters) || mayLackMemory(routed);
}

/** The model itself needs no adapter's slot. */
function mayWaitForAdapter(
  { endpoint, request: { model } }: Routed,
  adapters: Pick<AdapterNames, 'has'>,
): boolean {
  const lora = endpoint.attribute(LORA);
  if (lora === undefined || !adapters.has(model)) return false;
  return lora.waiting.size > 0 || !lora.running.has(model);
}

function mayLackMemory({ endpoint, load, request }: Routed): boolean {
  const cache = endpoint.attribute(CACHE_CONFIG);
  if (cache === undefined) return false;
  const { contextTokens } = loadPerEngine(load, endpoint);
  const neededTokens = contextTokens + request.promptTokens;
  return neededTokens > MEMORY_SHARE_MAX * cache.blocks * cache.blockTokens;
}
