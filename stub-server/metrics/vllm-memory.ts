import {
  type Family,
  type InfoFamily,
  info,
  labelled,
  type MetricsSource,
  series,
} from './series-family.ts';

/** vLLM's families about memory beside the KV cache: adapters, and KV in host memory. */

type Host = NonNullable<MetricsSource['engine']['kv']['host']>;

const ofHost =
  (read: (host: Host) => number) =>
  ({ engine }: MetricsSource): number | undefined =>
    engine.kv.host && read(engine.kv.host);

/** A server without adapters does not have these. */
const ofLoras =
  (read: (engine: MetricsSource['engine'], slots: number) => number) =>
  ({ engine, lorasMax }: MetricsSource): number | undefined =>
    lorasMax === 0 ? undefined : read(engine, lorasMax);

/** Which adapters are where, also those that no request uses (vLLM#54830). */
export const LORA_RESIDENCY: readonly Family[] = [
  info('lora_adapter_loaded', 'Whether a LoRA adapter is loaded, and where.', residents),
  ...series('gauge', {
    num_gpu_loaded_lora_adapters: [
      ofLoras(({ loras }) => loras.onAccelerator.size),
      'Number of LoRA adapters in GPU slots.',
    ],
    num_cpu_loaded_lora_adapters: [
      ofLoras(({ loras }) => loras.inHost.size),
      'Number of LoRA adapters in the CPU cache.',
    ],
    max_gpu_lora_adapters: [ofLoras((_, slots) => slots), 'Number of GPU slots for LoRA adapters.'],
  }),
];

/** Metrics of vLLM's offloading connector; the labelled ones are older than the others. */
export const HOST_TIER: readonly Family[] = [
  labelled('counter', 'kv_offload_total_bytes_total', {
    help: 'Number of bytes offloaded by KV connector.',
    label: 'transfer_type',
    values: {
      CPU_to_GPU: ofHost(({ loads }) => loads.bytes),
      GPU_to_CPU: ofHost(({ stores }) => stores.bytes),
    },
  }),
  labelled('counter', 'kv_offload_total_time_total', {
    help: 'Total time measured by all KV offloading operations, in seconds.',
    label: 'transfer_type',
    values: {
      CPU_to_GPU: ofHost(({ loads }) => loads.spentMs / 1000),
      GPU_to_CPU: ofHost(({ stores }) => stores.spentMs / 1000),
    },
  }),
  ...series('counter', {
    kv_offload_load_bytes_total: [ofHost(({ loads }) => loads.bytes), 'Bytes of KV loaded.'],
    kv_offload_load_time_total: [
      ofHost(({ loads }) => loads.spentMs / 1000),
      'Time of loads of KV, in seconds.',
    ],
    kv_offload_store_bytes_total: [ofHost(({ stores }) => stores.bytes), 'Bytes of KV stored.'],
    kv_offload_store_time_total: [
      ofHost(({ stores }) => stores.spentMs / 1000),
      'Time of stores of KV, in seconds.',
    ],
    kv_offload_cpu_block_lookup_total: [ofHost(({ lookups }) => lookups), 'CPU block lookups.'],
    kv_offload_cpu_block_hit_total: [ofHost(({ hits }) => hits), 'CPU block hits.'],
    kv_offload_cpu_block_miss_total: [
      ofHost(({ lookups, hits }) => lookups - hits),
      'CPU block misses.',
    ],
    kv_offload_block_eviction_total: [ofHost(({ evictions }) => evictions), 'Blocks evicted.'],
  }),
  ...series('gauge', {
    kv_offload_cpu_cache_usage_perc: [
      ofHost(({ usage }) => usage),
      'CPU KV-cache usage. 1 means 100 percent usage.',
    ],
  }),
];

function residents({
  engine,
  lorasMax,
  model,
  rank,
}: MetricsSource): ReturnType<InfoFamily['info']> {
  if (lorasMax === 0) return [];
  const { onAccelerator, inHost } = engine.loras;
  return [...inHost].map((adapter) => ({
    labels: {
      adapter_name: adapter,
      engine: String(rank),
      level: onAccelerator.has(adapter) ? 'gpu' : 'cpu',
      model_name: model,
      pinned: 'false',
    },
    value: 1,
  }));
}
