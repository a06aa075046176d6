import { NAMED_CONFIGS } from '../config/defaults.ts';
import { loadConfig } from '../config/load.ts';
import type { Endpoint, EndpointId, EndpointMetrics } from '../framework/endpoint.ts';
import { CACHE_CONFIG, type CacheConfig, LORA, type LoraState } from '../framework/keys.ts';
import type { DataSourceDefinition, Observer, PluginCatalogue } from '../framework/plugin.ts';
import { type InferenceRequest, NO_BLOCKS } from '../framework/request.ts';
import type { RoutedRequest, RouteOptions } from '../framework/routing.ts';
import type { Clock } from '../framework/runtime.ts';
import { chainBlockIds } from '../openai/chain-block-ids.ts';
import { createOpenBody } from '../openai/open-body.ts';
import { createEndpointPicker } from '../picker/endpoint-picker.ts';
import { seededRandom } from '../runtime/seeded-random.ts';

export interface PickerOptions {
  /** A configuration as text, or the name of a built-in one; the zero-knob default when left out. */
  readonly config?: string;
  /** All chance comes from it: the same calls with the same seed and clock give the same picks. */
  readonly seed: number;
  readonly clock: Clock;
  /** Hears of every request and endpoint. */
  readonly observers?: readonly Observer[];
}

export interface EndpointOptions {
  readonly id: string;
  /** `host:port`; the id when left out. */
  readonly address?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly cache?: CacheConfig;
}

export interface MetricsSample extends Omit<EndpointMetrics, 'sampledAt'> {
  /** On the caller's clock; now when left out. */
  readonly sampledAt?: number;
  readonly lora?: LoraState;
}

/** A request as a model server would get it. */
export interface BodyRequest {
  readonly body: Uint8Array | string;
  /** Decides how the body is read. */
  readonly path?: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request as a trace has it. */
export interface CountedRequest {
  readonly model: string;
  readonly promptTokens: number;
  /** One id for each full block of the prompt: equal ids at equal places are equal text. */
  readonly blockIds?: readonly (number | bigint | string)[];
  /** Tokens in a block; the same in every request to one picker. */
  readonly blockTokens?: number;
  readonly outputTokensMax?: number;
  readonly streaming?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The decision core in the caller's process: no Envoy, no Kubernetes, no sockets. */
export interface EmbeddedPicker {
  addEndpoint(endpoint: EndpointOptions): void;
  removeEndpoint(id: string): void;
  setMetrics(id: string, sample: MetricsSample): void;
  endpoints(): readonly Endpoint[];
  /** Picks and reserves. The caller reports `firstToken()` and must report `done(…)`. Throws RoutingError. */
  route(request: BodyRequest | CountedRequest, options?: RouteOptions): RoutedRequest;
  stop(): void;
}

/** 64 MiB: a million-token prompt many times over. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** As in the Mooncake traces and the stub's presets; only matters where a request gives no `blockTokens`. */
const BLOCK_TOKENS_DEFAULT = 64;

export function createPickerFrom(
  catalogue: PluginCatalogue,
  { config = 'default', seed, clock, observers = [] }: PickerOptions,
): EmbeddedPicker {
  const named = NAMED_CONFIGS.get(config);
  const plan = loadConfig({
    text: named ?? config,
    source: named === undefined ? 'config' : `built-in config ${config}`,
    catalogue: { ...catalogue, dataSources: catalogue.dataSources.map(withoutNetwork) },
  });
  const random = seededRandom(seed);
  const network = { get: () => Promise.reject(new Error('an embedded picker has no network')) };
  const picker = createEndpointPicker({ plan, runtime: { clock, random, network }, observers });
  const openBody = createOpenBody({ bodyBytesMax: BODY_BYTES_MAX, hashSeed: seed });
  let requests = 0;

  return {
    addEndpoint: ({ id, address = id, labels = {}, cache }) => {
      picker.pool.upsert({
        id: id as EndpointId,
        address,
        labels: new Map(Object.entries(labels)),
      });
      if (cache !== undefined) picker.pool.set(id as EndpointId, CACHE_CONFIG, cache);
    },
    removeEndpoint: (id) => picker.pool.remove(id as EndpointId),
    setMetrics: (id, { lora, sampledAt = clock.now(), ...metrics }) => {
      picker.pool.observe(id as EndpointId, { ...metrics, sampledAt });
      if (lora !== undefined) picker.pool.set(id as EndpointId, LORA, lora);
    },
    endpoints: () => picker.pool.snapshot(),
    route: (request, options) => {
      const id = `r${requests++}`;
      const read = 'body' in request ? readBody(request, id, openBody) : counted(request, id);
      return picker.route(read, { firstTokenSeen: true, ...options });
    },
    stop: () => picker.stop(),
  };
}

function readBody(
  { body, path = '/v1/chat/completions', headers = {} }: BodyRequest,
  id: string,
  openBody: ReturnType<typeof createOpenBody>,
): InferenceRequest {
  const reader = openBody({ id, path, headers: new Map(Object.entries(headers)) });
  reader.push(typeof body === 'string' ? new TextEncoder().encode(body) : body);
  return reader.end();
}

function counted(request: CountedRequest, id: string): InferenceRequest {
  const { model, promptTokens, blockIds, blockTokens = BLOCK_TOKENS_DEFAULT } = request;
  return {
    id,
    model,
    streaming: request.streaming ?? true,
    outputTokensMax: request.outputTokensMax,
    promptTokens,
    prompt:
      blockIds === undefined
        ? NO_BLOCKS
        : chainBlockIds(blockIds, { seedText: model, blockTokens }),
    priority: 0,
    fairnessId: 'default-flow',
    objective: undefined,
    ttftSloMs: undefined,
    tpotSloMs: undefined,
    headers: new Map(Object.entries(request.headers ?? {})),
    bodyBytes: 4 * promptTokens,
  };
}

/** The caller brings the metrics, so what would scrape them is accepted in a configuration and does nothing. */
export function withoutNetwork(source: DataSourceDefinition): DataSourceDefinition {
  const scrapes = source.type === 'metrics-data-source' || source.type === 'core-metrics-extractor';
  return scrapes ? { ...source, start: () => ({ stop: () => undefined }) } : source;
}
