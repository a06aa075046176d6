import { ConfigError } from '../../src/framework/error.ts';
import type { AdapterArg, EngineArgs, KvTransferArg } from './engine-args.ts';
import { givenTimings } from './timings-from-args.ts';

/** Variables of the environment by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Defaults of llm-d-inference-sim where they differ from those of this command. */
const SIMULATOR: EngineArgs = {
  host: '0.0.0.0',
  port: 8000,
  'max-num-seqs': 5,
  'max-model-len': 1024,
  'max-waiting-queue-length': 1000,
  'max-loras': 1,
  'enable-kvcache': false,
  'kv-cache-size': 1024,
  'block-size': 16,
  'kv-events-replay-queue-size': 1024,
};
/** With the simulator's KV cache: where its events go. */
const KV_EVENTS_ENDPOINT = 'tcp://127.0.0.1:5557';
/** Blocks of a server whose KV memory is not bounded: 16 million tokens in blocks of 16. */
const UNBOUNDED_BLOCKS = 2 ** 20;

/**
 * The stub's options for settings of vLLM and llm-d-inference-sim. `asSimulator` brings the
 * defaults of the latter. Throws ConfigError for settings that cannot be combined.
 */
export function stubFromArgs(
  given: EngineArgs,
  {
    asSimulator,
    environment,
  }: { readonly asSimulator: boolean; readonly environment: Environment },
): Readonly<Record<string, unknown>> {
  const args: EngineArgs = asSimulator ? { ...SIMULATOR, ...given } : given;
  const names = args['served-model-name'] ?? [];
  const [model = args.model, ...aliases] = names;
  const mebibytes = args['max-request-body-size-mb'];
  if (asSimulator && model === undefined) {
    throw fault('--model', 'is missing: name the model with it, or with $SIM_MODEL');
  }
  return defined({
    ...(asSimulator && { count: 1 }),
    model,
    modelRoot: args.model ?? model,
    aliases: names.length > 1 ? aliases : undefined,
    host: args.host,
    port: args.port,
    engine: args.engine,
    seed: args.seed === undefined ? undefined : Math.abs(args.seed),
    dataParallelSize: args['data-parallel-size'],
    contextTokensMax: args['max-model-len'],
    ...schedulerOptions(args),
    ...memoryOptions(args, asSimulator),
    ...kvEventOptions(args, asSimulator),
    ...adapterOptions(args),
    ...encoderOptions(args),
    timings: givenTimings(args, asSimulator),
    readyAfterMs: args['startup-duration'],
    mode: args.mode,
    dataset: datasetOf(args),
    failures: { rate: args['failure-injection-rate'], types: args['failure-types'] },
    fakeMetrics: args['fake-metrics'],
    requestIdHeaders: args['enable-request-id-headers'],
    strict: args.strict,
    bodyBytesMax: mebibytes === undefined ? undefined : mebibytes * 2 ** 20,
    embeddingDimensions: args['default-embedding-dimensions'],
    apiKeys: args['api-key'],
    tls: tlsOf(args),
    pod: environment['POD_NAME'] || undefined,
    podNamespace: environment['POD_NAMESPACE'] || undefined,
    podIp: environment['POD_IP'] || undefined,
  });
}

function schedulerOptions(args: EngineArgs): object {
  const sequencesMax = args['max-num-seqs'];
  const batchedTokensMax = args['max-num-batched-tokens'];
  return {
    sequencesMax,
    // Each running sequence needs a token in each step.
    batchedTokensMax:
      batchedTokensMax ?? (sequencesMax === undefined ? undefined : Math.max(2048, sequencesMax)),
    waitingMax: args['max-waiting-queue-length'],
    policy: args['scheduling-policy'],
    cacheHitThreshold: args['global-cache-hit-threshold'],
  };
}

/** The simulator has neither a prefix cache nor a bound on memory unless its KV cache is enabled. */
function memoryOptions(args: EngineArgs, asSimulator: boolean): object {
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
function connectorsOf({ 'kv-transfer-config': config }: EngineArgs): readonly KvTransferArg[] {
  if (config === undefined) return [];
  return [config, ...(config.kv_connector_extra_config?.connectors ?? [])];
}

/** Host memory of vLLM's own connectors; another one, such as LMCache, has settings of its own. */
function hostTierOf(args: EngineArgs): object | undefined {
  const gibibytes = args['kv-offloading-size'];
  if (gibibytes !== undefined) return { gibibytes };
  for (const { kv_connector_extra_config: extra } of connectorsOf(args)) {
    const { num_cpu_blocks: blocks, cpu_bytes_to_use: bytes } = extra ?? {};
    if (blocks !== undefined) return { blocks };
    if (bytes !== undefined) return { gibibytes: bytes / 2 ** 30 };
  }
  return undefined;
}

function kvEventOptions(args: EngineArgs, asSimulator: boolean): object {
  const config = args['kv-events-config'];
  const format = args['use-vllm-map-event-format'] === true ? 'map' : undefined;
  if (config?.enable_kv_cache_events === true && config.publisher === 'zmq') {
    const target = {
      endpoint: config.endpoint,
      replayEndpoint: config.replay_endpoint ?? undefined,
      replayBatches: config.buffer_steps,
      topic: config.topic,
    };
    return { kvEventsTarget: defined(target), kvEventsFormat: format };
  }
  const endpoint = args['zmq-endpoint'] ?? (asSimulator ? KV_EVENTS_ENDPOINT : undefined);
  if (endpoint === undefined || args['enable-kvcache'] !== true) return {};
  const target = {
    endpoint,
    replayEndpoint: args['kv-events-replay-endpoint'] || undefined,
    replayBatches: args['kv-events-replay-queue-size'],
    topic: args['zmq-topic'],
  };
  return { kvEventsTarget: defined(target), kvEventsFormat: format };
}

function adapterOptions(args: EngineArgs): object {
  const modules = args['lora-modules'];
  const active = args['max-loras'];
  const host = args['max-cpu-loras'];
  if (active !== undefined && host !== undefined && host < active) {
    throw fault('--max-cpu-loras', `is ${host}, below --max-loras (${active}): raise it`);
  }
  const path = ({ name, path = name }: AdapterArg): readonly [string, string] => [name, path];
  return {
    loras: modules?.map(({ name }) => name),
    loraPaths: modules === undefined ? undefined : Object.fromEntries(modules.map(path)),
    lorasMax: active,
    loraEnabled: args['enable-lora'],
    hostLorasMax: host,
  };
}

function encoderOptions(args: EngineArgs): object {
  const role = args['ec-transfer-config']?.ec_role;
  return {
    encoderOnly: args['mm-encoder-only'],
    servesEncodings: role === undefined ? undefined : role !== 'ec_consumer',
  };
}

function datasetOf(args: EngineArgs): string | undefined {
  const path = args['dataset-path'] || undefined;
  if (path !== undefined && args.mode === 'echo') {
    throw fault('--dataset-path', 'cannot be used with --mode echo: leave one of them out');
  }
  return path;
}

function tlsOf(args: EngineArgs): unknown {
  const certFile = args['ssl-certfile'] || undefined;
  const keyFile = args['ssl-keyfile'] || undefined;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw fault('--ssl-certfile', 'and --ssl-keyfile need each other: give both');
  }
  if (certFile === undefined) return args['self-signed-certs'] === true ? 'self-signed' : undefined;
  if (args['self-signed-certs'] !== true) return { certFile, keyFile };
  throw fault('--self-signed-certs', 'cannot be used with --ssl-certfile: leave one of them out');
}

function fault(path: string, message: string): ConfigError {
  return new ConfigError('command line', [{ path, message }]);
}

/** Without the fields that are undefined, also one level below: they would hide defaults. */
function defined(fields: object): Readonly<Record<string, unknown>> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}
