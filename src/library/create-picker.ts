import { NAMED_CONFIGS } from '../config/defaults.ts';
import { loadConfig } from '../config/load.ts';
import type { Endpoint, EndpointId, EndpointMetrics } from '../framework/endpoint.ts';
import {
  CACHE_CONFIG,
  type CacheConfig,
  ENGINE_COUNT,
  LORA,
  type LoraState,
} from '../framework/endpoint-attributes.ts';
import { type PluginFault, RoutingError } from '../framework/error.ts';
import type { Observer } from '../framework/observer.ts';
import type { DataSourceDefinition, PluginCatalogue } from '../framework/plugin.ts';
import type { ReplacementReport } from '../framework/replacement.ts';
import type { Placement, RoutedRequest, RouteOptions } from '../framework/routing.ts';
import type { Clock, Network } from '../framework/runtime.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import type { EndpointPool } from '../picker/pool/endpoint-pool.ts';
import { nodeClock } from '../runtime/clock/node-clock.ts';
import { warnOfFault } from '../runtime/log/fault-warning.ts';
import { randomSecret, randomSeed } from '../runtime/random-seed.ts';
import { checkEngines, checkSample } from './check-numbers.ts';
import { enqueued, placedBy } from './enqueue.ts';
import { type BodyRequest, type CountedRequest, requestReader } from './request-reader.ts';
import { type EmbeddedReplica, startCore } from './start-core.ts';

export interface PickerOptions {
  /** A configuration as text, or the name of a built-in one; `default` when left out. */
  readonly config?: string;
  /**
   * All chance comes from it: the same calls with the same seed and clock give the same picks.
   * Drawn by chance when left out.
   */
  readonly seed?: number;
  /** Real time when left out; a `SimulatedClock` makes time an input, too. */
  readonly clock?: Clock;
  /** Called for every request and for every change of an endpoint. */
  readonly observers?: readonly Observer[];
  /**
   * Called for the first failure of each call of a plugin or observer, and then at most once a
   * minute. The picker goes on without what has failed. Emits a warning of the process when left
   * out.
   */
  readonly onFault?: (fault: PluginFault) => void;
  /** Shares with the pickers of other processes what each of them does; see docs/replicas.md. */
  readonly replica?: EmbeddedReplica;
}

/** The options of a picker in a simulation. */
export interface EmbeddedPickerOptions extends PickerOptions {
  /**
   * The network over which a scheduler in another process is asked, by the picker's clock: where
   * that stands still, an answer takes no time. Without it there is no such scheduler.
   */
  readonly schedulerNetwork?: Network | undefined;
}

export interface EndpointOptions {
  readonly id: string;
  /** `host:port`; the id when left out. */
  readonly address?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The size of the cache of each engine. */
  readonly cache?: CacheConfig;
  /**
   * How many engines answer at the address, as data-parallel ranks of one API server; 1 when left
   * out. Throws RangeError for another number than a whole one from 1 to 256.
   */
  readonly engines?: number;
}

export interface MetricsSample extends Omit<EndpointMetrics, 'sampledAt'> {
  /** In milliseconds of the picker's clock; now when left out. */
  readonly sampledAt?: number;
  readonly lora?: LoraState;
}

/** The decision core in the caller's process: no Envoy, no Kubernetes, no sockets. */
export interface EmbeddedPicker {
  /**
   * Adds an endpoint, or gives a known one new labels. A new address makes it a new endpoint:
   * metrics and all that was learned are dropped.
   */
  addEndpoint(endpoint: EndpointOptions): void;
  /** Throws an Error for an id that is not in the pool. */
  removeEndpoint(id: string): void;
  /**
   * What the endpoint reports of itself. Until its first sample an endpoint counts as unknown, not
   * as idle. Ignored when `sampledAt` lies before the last sample. Throws an Error for an id that
   * is not in the pool, and RangeError for a number that its metric cannot have.
   */
  setMetrics(id: string, sample: MetricsSample): void;
  endpoints(): readonly Endpoint[];
  /**
   * Picks an endpoint and reserves the request's load there. The caller may report `firstToken()`
   * and must report `done(…)`. Throws RoutingError.
   */
  route(request: BodyRequest | CountedRequest, options?: RouteOptions): RoutedRequest;
  /**
   * Does what `route` does, but the request waits until its endpoint can begin it. Rejects with
   * RoutingError, or with the reason of `signal`, which ends the wait. With flow control in the
   * configuration it waits until that lets it go. Without both no request waits.
   */
  enqueue(
    request: BodyRequest | CountedRequest,
    options?: RouteOptions & { readonly signal?: AbortSignal },
  ): Promise<RoutedRequest>;
  /**
   * Does what `enqueue` does, without a promise: returns undefined where the request waits, and
   * calls the placement later.
   */
  enqueueWith(
    request: BodyRequest | CountedRequest,
    placement: Placement,
    options?: RouteOptions,
  ): RoutedRequest | undefined;
  /** What decides in place of the profiles, with its counts; undefined where they decide. */
  scheduler(): ReplacementReport | undefined;
  /**
   * Stops data sources and their timers, and refuses the requests that wait, and those that come
   * later, with `shutting-down`. Requests in flight can still be reported.
   */
  stop(): void;
}

/** A picker with these plugin types. Throws ConfigError when the configuration cannot be run. */
export function createPickerFrom(
  catalogue: PluginCatalogue,
  { config = 'default', ...given }: EmbeddedPickerOptions = {},
): EmbeddedPicker {
  const { seed = randomSeed(), clock = nodeClock(), observers = [], onFault = warnOfFault } = given;
  const { replica: shared, schedulerNetwork } = given;
  const plan = planOf(catalogue, config);
  const secret = randomSecret();
  const chosen = { plan, seed, clock, observers, onFault, secret };
  const { picker, router, replica } = startCore({ ...chosen, replica: shared, schedulerNetwork });
  const readRequest = requestReader(plan, secret);
  let isStopped = false;
  const read: typeof readRequest = (request) => {
    if (!isStopped) return readRequest(request);
    throw new RoutingError('shutting-down', 'the picker was stopped; make another one');
  };

  return {
    ...endpointCalls(picker.pool, clock),
    route: (request, options) =>
      picker.route(read(request), { firstTokenVisible: true, ...options }),
    enqueue: async (request, options) => placedBy(router, read(request), options),
    enqueueWith: (request, placement, options) =>
      enqueued(router, read(request), placement, options),
    scheduler: () => picker.replacement(),
    stop: () => {
      isStopped = true;
      void replica?.stop();
      router.stop();
      picker.stop();
    },
  };
}

/** The calls with which a caller says what endpoints there are, and what they report. */
function endpointCalls(
  pool: EndpointPool,
  clock: Clock,
): Pick<EmbeddedPicker, 'addEndpoint' | 'removeEndpoint' | 'setMetrics' | 'endpoints'> {
  return {
    addEndpoint: ({ id: name, address = name, labels = {}, cache, engines }) => {
      const id = name as EndpointId;
      if (engines !== undefined) checkEngines(engines);
      pool.upsert({ id, address, labels: new Map(Object.entries(labels)) });
      if (cache !== undefined) pool.set(id, CACHE_CONFIG, cache);
      if (engines !== undefined) pool.set(id, ENGINE_COUNT, engines);
    },
    removeEndpoint: (id) => pool.remove(knownId(id, pool, 'removeEndpoint')),
    setMetrics: (name, { lora, sampledAt = clock.now(), ...metrics }) => {
      const id = knownId(name, pool, 'setMetrics');
      checkSample(metrics);
      pool.observe(id, { ...metrics, sampledAt });
      if (lora !== undefined) pool.set(id, LORA, lora);
    },
    endpoints: () => pool.snapshot(),
  };
}

function planOf(catalogue: PluginCatalogue, config: string): PickerPlan {
  const named = NAMED_CONFIGS.get(config);
  return loadConfig({
    text: named ?? config,
    source: named === undefined ? 'config' : `built-in config ${config}`,
    catalogue: { ...catalogue, dataSources: catalogue.dataSources.map(withoutNetwork) },
  });
}

/** Throws where no endpoint of the pool has the id that a call names. */
function knownId(id: string, pool: EndpointPool, call: string): EndpointId {
  const endpoint = pool.get(id as EndpointId);
  if (endpoint !== undefined) return endpoint.id;
  const count = pool.snapshot().length;
  throw new Error(`${call}: no endpoint has the id ${id} (${count} known); call addEndpoint first`);
}

/** The caller sets the metrics: a configuration may name what scrapes them, and it does nothing. */
export function withoutNetwork(source: DataSourceDefinition): DataSourceDefinition {
  const scrapes = source.type === 'metrics-data-source' || source.type === 'core-metrics-extractor';
  return scrapes ? { ...source, start: () => ({ stop: () => undefined }) } : source;
}
