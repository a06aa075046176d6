import { z } from 'zod';
import { count, flag, json, number, type SettingTypes } from './setting-types.ts';

/** vLLM's `--kv-transfer-config`, in which one connector may have several. */
interface KvTransferArg {
  readonly kv_connector?: string | undefined;
  readonly kv_connector_extra_config?:
    | {
        readonly num_cpu_blocks?: number | undefined;
        readonly cpu_bytes_to_use?: number | undefined;
        readonly bidirectional_kv_xfer?: boolean | undefined;
        readonly connectors?: readonly KvTransferArg[] | undefined;
      }
    | undefined;
}

/** The KV cache, on the accelerator and in the host's memory. */
export interface MemoryArgs {
  readonly 'enable-prefix-caching'?: boolean | undefined;
  readonly 'enable-kvcache'?: boolean | undefined;
  readonly 'kv-cache-size'?: number | undefined;
  readonly 'num-gpu-blocks-override'?: number | undefined;
  readonly 'block-size'?: number | undefined;
  readonly 'kv-offloading-size'?: number | undefined;
  readonly 'kv-transfer-config'?: KvTransferArg | undefined;
}

const kvTransferConfig: z.ZodType<KvTransferArg> = z.looseObject({
  kv_connector: z.string().optional(),
  kv_connector_extra_config: z
    .looseObject({
      num_cpu_blocks: count.optional(),
      cpu_bytes_to_use: number.pipe(z.number().positive()).optional(),
      bidirectional_kv_xfer: flag.optional(),
      get connectors() {
        return z.array(kvTransferConfig).optional();
      },
    })
    .optional(),
});

export const MEMORY_TYPES: SettingTypes<MemoryArgs> = {
  'enable-prefix-caching': flag,
  'enable-kvcache': flag,
  'kv-cache-size': count,
  'num-gpu-blocks-override': count,
  'block-size': count,
  'kv-offloading-size': number.pipe(z.number().positive()),
  'kv-transfer-config': json(kvTransferConfig),
};

/** Blocks of a server whose KV memory is not bounded: 16 million tokens in blocks of 16. */
const UNBOUNDED_BLOCKS = 2 ** 20;

/**
 * The simulator has neither a prefix cache nor a bound on memory unless its KV cache is enabled.
 */
export function memoryOptions(args: MemoryArgs, asSimulator: boolean): object {
  const enabled = args['enable-kvcache'];
  const unbounded = asSimulator && enabled !== true;
  return {
    blockTokens: args['block-size'],
    kvBlocks:
      args['num-gpu-blocks-override'] ?? (unbounded ? UNBOUNDED_BLOCKS : args['kv-cache-size']),
    prefixCaching: enabled === false ? false : args['enable-prefix-caching'],
    hostTier: hostTierOf(args),
    bidirectionalKv: connectorsOf(args).some(
      ({ kv_connector_extra_config: extra }) => extra?.bidirectional_kv_xfer === true,
    )
      ? true
      : undefined,
  };
}

/** vLLM's KV connectors, which may be several in one. */
function connectorsOf({ 'kv-transfer-config': config }: MemoryArgs): readonly KvTransferArg[] {
  if (config === undefined) return [];
  return [config, ...(config.kv_connector_extra_config?.connectors ?? [])];
}

/** Host memory of vLLM's own connectors; another one, such as LMCache, has settings of its own. */
function hostTierOf(args: MemoryArgs): object | undefined {
  const gibibytes = args['kv-offloading-size'];
  if (gibibytes !== undefined) return { gibibytes };
  for (const { kv_connector_extra_config: extra } of connectorsOf(args)) {
    const { num_cpu_blocks: blocks, cpu_bytes_to_use: bytes } = extra ?? {};
    if (blocks !== undefined) return { blocks };
    if (bytes !== undefined) return { gibibytes: bytes / 2 ** 30 };
  }
  return undefined;
}
