import { z } from 'zod';
import type { Millis } from '../../framework/runtime.ts';
import { duration } from '../../plugins/parameters/duration.ts';

/** Parameters of `precise-prefix-cache-producer`, as far as they have a meaning here. */
export interface PrecisePrefixConfig {
  /** The unit matches are told in. Engines' own block sizes are taken from their events. */
  readonly blockTokens: number;
  /** How topics must begin; undefined where each endpoint is connected to and all it says is meant. */
  readonly topicFilter: string | undefined;
  /** Whether to connect to each endpoint. */
  readonly discoverPods: boolean;
  /** Where to wait for publishers to connect. */
  readonly bindAddress: string | undefined;
  readonly socketPort: number;
  readonly replaySocketPort: number | undefined;
  readonly tierWeights: ReadonlyMap<string, number>;
  /** Blocks of all endpoints together. */
  readonly blocksMax: number;
  /** Counts a prompt as held where it was just sent, before the engine says so. */
  readonly speculative: boolean;
  readonly speculativeMs: Millis;
}

const BLOCK_TOKENS_DEFAULT = 16;
const SOCKET_PORT_DEFAULT = 5557;
const SPECULATIVE_MS_DEFAULT: Millis = 2000;
/** The reference's 10⁸ blocks would take 5 GB here; this bounds the index to about 1 GB. */
const BLOCKS_MAX = 16_000_000;

const port = z.int().min(1).max(65_535);

/** Go's zero value for a port that is not there. */
const optionalPort = z
  .int()
  .min(0)
  .max(65_535)
  .optional()
  .transform((value) => (value === 0 ? undefined : value));

const tokenProcessorConfig = z.strictObject({
  blockSizeTokens: z.int().positive().optional(),
  blockSize: z.int().positive().optional(),
  /** Of keys that are ours alone: nobody else sees them. */
  hashSeed: z.string().optional(),
  hashAlgorithm: z.enum(['cbor-fnv', 'xxh64']).optional(),
});

const kvEventsConfig = z.strictObject({
  /** Both layouts are told apart by what comes. */
  engineType: z.enum(['vllm', 'sglang']).optional(),
  topicFilter: z.string().optional(),
  /** Of worker threads; ours are the event loop's. */
  concurrency: z.int().positive().optional(),
  discoverPods: z.boolean().default(true),
  zmqEndpoint: z.string().optional(),
  podDiscoveryConfig: z
    .strictObject({
      /** Which pods there are is the pool's business. */
      podLabelSelector: z.string().optional(),
      podNamespace: z.string().optional(),
      socketPort: port.default(SOCKET_PORT_DEFAULT),
      replaySocketPort: optionalPort,
    })
    .optional(),
});

const indexerConfig = z.strictObject({
  kvBlockIndexConfig: z
    .strictObject({
      inMemoryConfig: z
        .strictObject({
          size: z.number().positive().optional(),
          podCacheSize: z.int().positive().optional(),
        })
        .optional(),
      costAwareMemoryConfig: z.strictObject({ size: z.string().optional() }).optional(),
      redisConfig: z.strictObject({ address: z.string().optional() }).optional(),
      enableMetrics: z.boolean().optional(),
      metricsLoggingInterval: duration.optional(),
    })
    .optional(),
  kvCacheBackendConfigs: z
    .array(z.strictObject({ name: z.string().min(1), weight: z.number().min(0).max(1) }))
    .optional(),
});

/** The reference's parameters and defaults. Where its index is kept, and by which hash, is accepted and our own affair. */
export const precisePrefixConfig: z.ZodType<PrecisePrefixConfig> = z
  .strictObject({
    tokenProcessorConfig: tokenProcessorConfig.default({}),
    kvEventsConfig: kvEventsConfig.default({ discoverPods: true }),
    indexerConfig: indexerConfig.default({}),
    speculativeIndexing: z.boolean().default(false),
    speculativeTTL: duration.optional(),
  })
  .transform((parameters) => {
    const {
      tokenProcessorConfig: tokens,
      kvEventsConfig: events,
      indexerConfig: index,
    } = parameters;
    const size = index.kvBlockIndexConfig?.inMemoryConfig?.size ?? BLOCKS_MAX;
    const backends = index.kvCacheBackendConfigs ?? [
      { name: 'gpu', weight: 1 },
      { name: 'cpu', weight: 0.8 },
    ];
    return {
      blockTokens: tokens.blockSizeTokens ?? tokens.blockSize ?? BLOCK_TOKENS_DEFAULT,
      topicFilter: events.topicFilter,
      discoverPods: events.discoverPods,
      bindAddress: events.zmqEndpoint === '' ? undefined : events.zmqEndpoint,
      socketPort: events.podDiscoveryConfig?.socketPort ?? SOCKET_PORT_DEFAULT,
      replaySocketPort: events.podDiscoveryConfig?.replaySocketPort,
      tierWeights: new Map(backends.map(({ name, weight }) => [name.toLowerCase(), weight])),
      blocksMax: Math.min(BLOCKS_MAX, Math.floor(size)),
      speculative: parameters.speculativeIndexing,
      speculativeMs: parameters.speculativeTTL ?? SPECULATIVE_MS_DEFAULT,
    };
  });
