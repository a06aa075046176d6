import { z } from 'zod';
import type { CurveFiles, Millis } from '../../framework/runtime.ts';
import { duration } from '../../plugins/parameters/duration.ts';
import { optionalPort } from '../../plugins/parameters/optional-port.ts';

/** The parameters of `precise-prefix-cache-producer` that have an effect. */
export interface PrecisePrefixConfig {
  /** The unit of the matches. The engines' own block sizes come from their events. */
  readonly blockTokens: number;
  /** The prefix of topics; undefined: each socket's default. */
  readonly topicFilter: string | undefined;
  readonly discoverPods: boolean;
  /** The address to bind, for publishers that connect to the picker. */
  readonly bindAddress: string | undefined;
  /** Encrypts and authenticates the sockets. */
  readonly curve: CurveFiles | undefined;
  readonly socketPort: number;
  readonly replaySocketPort: number | undefined;
  readonly tierWeights: ReadonlyMap<string, number>;
  /** A bound on the blocks of all endpoints together. */
  readonly blocksMax: number;
  /** A message of events with more elements is dropped. */
  readonly batchElementsMax: number;
  /** Counts a prompt as cached where it was just sent, before an event confirms it. */
  readonly speculative: boolean;
  readonly speculativeMs: Millis;
}

const BLOCK_TOKENS_DEFAULT = 16;
const SOCKET_PORT_DEFAULT = 5557;
const SPECULATIVE_MS_DEFAULT: Millis = 2000;
/** Bounds the index to about 1 GB; the reference's 10⁸ blocks would take 5 GB. */
const BLOCKS_MAX = 16_000_000;

/**
 * A message is one step of an engine. 64 Ki tokens in blocks of 16 are 75,000 elements; with a
 * block for each token this is enough for steps of 40,000. Reading as many takes about 50 ms.
 */
const BATCH_ELEMENTS_MAX = 500_000;

const port = z.int().min(1).max(65_535);

/** A time that is empty, zero or negative is not set. */
const lifetime = z.lazy(() => z.union([z.literal('').transform(() => 0), duration]).optional());

/** An address to bind, or Go's empty text for none. */
const zmqAddress = z
  .string()
  .regex(
    /^(?:|tcp:\/\/(?:\*|\[[0-9a-fA-F:.]+\]|[^\s:/]+):\d{1,5}|ipc:\/\/.+)$/,
    'must be an address to bind, as tcp://*:5557 or ipc:///path',
  );

const tokenProcessorConfig = z.lazy(() =>
  z.strictObject({
    /** 0 is Go's value for a missing number. */
    blockSizeTokens: z.int().nonnegative().optional(),
    blockSize: z.int().nonnegative().optional(),
    /** Has no effect: the picker's keys are never shared. */
    hashSeed: z.string().optional(),
    hashAlgorithm: z.enum(['', 'cbor-fnv', 'xxh64']).optional(),
  }),
);

const curve = z.lazy(() =>
  z.strictObject({
    certPath: z.string().min(1).optional(),
    serverKeyPath: z.string().min(1).optional(),
  }),
);

const kvEventsFields = z.lazy(() =>
  z.strictObject({
    /** Has no effect: the layout of an event shows its engine. */
    engineType: z.enum(['', 'vllm', 'sglang']).optional(),
    topicFilter: z.string().optional(),
    /** Has no effect: there are no worker threads. */
    concurrency: z.int().positive().optional(),
    /** Has no effect: events have no spans. */
    tracing: z.boolean().optional(),
    discoverPods: z.boolean().default(true),
    zmqEndpoint: zmqAddress.optional(),
    curve: curve.optional(),
    maxBatchElements: z.int().positive().default(BATCH_ELEMENTS_MAX),
    podDiscoveryConfig: z
      .strictObject({
        /** These two have no effect: the pods are those of the pool. */
        podLabelSelector: z.string().optional(),
        podNamespace: z.string().optional(),
        socketPort: port.default(SOCKET_PORT_DEFAULT),
        replaySocketPort: optionalPort,
      })
      .optional(),
  }),
);

const kvEventsConfig = kvEventsFields.check(({ value, issues }) => {
  const { curve: keys, zmqEndpoint = '', discoverPods } = value;
  const missing = (key: keyof CurveFiles, what: string): void =>
    void issues.push({
      code: 'custom',
      path: ['curve', key],
      message: `is needed ${what}`,
      input: value,
    });
  if (keys === undefined) return;
  if (zmqEndpoint !== '' && keys.certPath === undefined) missing('certPath', 'with zmqEndpoint');
  if (discoverPods && keys.serverKeyPath === undefined) {
    missing('serverKeyPath', 'to connect to pods (discoverPods)');
  }
});

const indexerConfig = z.lazy(() =>
  z.strictObject({
    tokenizersPoolConfig: z
      .undefined('is of an older release; list a token-producer with vllm.url in its place')
      .optional(),
    kvBlockIndexConfig: z
      .strictObject({
        inMemoryConfig: z
          .strictObject({
            size: z.int().positive().optional(),
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
      .array(z.strictObject({ name: z.string().min(1), weight: z.number().min(0) }))
      .optional(),
  }),
);

/** The reference's parameters and defaults. Parameters of the index's storage have no effect. */
export const precisePrefixConfig: z.ZodType<PrecisePrefixConfig> = z.lazy(() =>
  z
    .strictObject({
      tokenProcessorConfig: tokenProcessorConfig.default({}),
      kvEventsConfig: kvEventsConfig.prefault({}),
      indexerConfig: indexerConfig.default({}),
      speculativeIndexing: z.boolean().default(false),
      speculativeTTL: lifetime,
    })
    .transform((parameters) => {
      const { tokenProcessorConfig: tokens, kvEventsConfig: events } = parameters;
      const index = parameters.indexerConfig;
      const size = index.kvBlockIndexConfig?.inMemoryConfig?.size ?? BLOCKS_MAX;
      const backends = index.kvCacheBackendConfigs ?? [
        { name: 'gpu', weight: 1 },
        { name: 'cpu', weight: 0.8 },
      ];
      return {
        blockTokens: tokens.blockSizeTokens || tokens.blockSize || BLOCK_TOKENS_DEFAULT,
        topicFilter: events.topicFilter,
        discoverPods: events.discoverPods,
        bindAddress: events.zmqEndpoint === '' ? undefined : events.zmqEndpoint,
        curve: events.curve,
        socketPort: events.podDiscoveryConfig?.socketPort ?? SOCKET_PORT_DEFAULT,
        replaySocketPort: events.podDiscoveryConfig?.replaySocketPort,
        tierWeights: new Map(backends.map(({ name, weight }) => [name.toLowerCase(), weight])),
        batchElementsMax: events.maxBatchElements,
        blocksMax: Math.min(BLOCKS_MAX, Math.floor(size)),
        speculative: parameters.speculativeIndexing,
        speculativeMs: parameters.speculativeTTL || SPECULATIVE_MS_DEFAULT,
      };
    }),
);
