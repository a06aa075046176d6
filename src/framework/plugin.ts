import type { AttributeKey, Endpoint, EndpointId, EndpointMetrics } from './endpoint.ts';
import type { ConfigIssue } from './error.ts';
import type { Observer, ResponseReporter } from './observer.ts';
import type { ReplacementScheduler } from './replacement.ts';
import type { InferenceRequest } from './request.ts';
import type { RequestControl } from './request-control.ts';
import type { Clock, Millis, Runtime } from './runtime.ts';
import type {
  CycleKey,
  Decider,
  Filter,
  Picker,
  ProfileHandler,
  SchedulingContext,
  SchedulingProfile,
  Scorer,
} from './scheduling.ts';

/** What the framework needs of a configuration schema; every zod schema has it. */
export interface Schema<T> {
  parse(raw: unknown): T;
}

/** A request header that a plugin reads. */
export interface HeaderUse {
  /** Lower-case. */
  readonly name: string;
  /**
   * `id`: the plugin only compares values of requests with each other. `name`: it compares the
   * value with names of endpoints (also in base64), their addresses, label values, or names of
   * profiles; several are separated by commas.
   */
  readonly as: 'id' | 'name';
  /** In the header `cookie`, the only cookie that it reads. */
  readonly cookie?: string | undefined;
}

interface Definition<Config> {
  /** The name in configuration files. */
  readonly type: string;
  /**
   * Reads its parameters. The schema of a built-in type is `z.lazy`, made when a configuration
   * first names the type, because all of them together are 2,000 objects, and a configuration names
   * few.
   */
  readonly config: Schema<Config>;
  /** Facts that a data source must provide for this configuration; checked once, at start. */
  needs?(config: Config): readonly CycleKey<unknown>[];
  /**
   * The request headers that it reads. A capture keeps only these headers, and of each only what
   * `as` says.
   */
  headers?(config: Config): readonly HeaderUse[];
  /** Scores contain prompt hashes, with which guesses could be verified: captures omit them. */
  readonly hashesPrompt?: boolean;
  /** What it learns that no capture has, such as KV events. */
  readonly uncaptured?: string;
}

export interface FilterDefinition<Config = unknown> extends Definition<Config> {
  create(config: Config, runtime: Runtime): Filter & Observer;
}

export interface ScorerDefinition<Config = unknown> extends Definition<Config> {
  /** A scorer that also filters takes the place among the filters that it has in its profile. */
  create(config: Config, runtime: Runtime): Scorer & Partial<Filter> & Observer;
}

export interface PickerDefinition<Config = unknown> extends Definition<Config> {
  create(config: Config, runtime: Runtime): Picker & Observer;
}

export interface DeciderDefinition<Config = unknown> extends Definition<Config> {
  create(config: Config, runtime: Runtime): Decider & Observer;
}

/** The profiles and deciders of a configuration, by name. */
export interface HandlerParts {
  readonly profiles: ReadonlyMap<string, SchedulingProfile>;
  readonly deciders: ReadonlyMap<string, Decider>;
}

/** The names of a configuration's profiles and deciders. */
export interface HandlerNames {
  readonly profiles: Pick<ReadonlySet<string>, 'has' | 'size'>;
  readonly deciders: Pick<ReadonlySet<string>, 'has' | 'size'>;
}

export interface ProfileHandlerDefinition<Config = unknown> extends Definition<Config> {
  /**
   * Why it cannot run the profiles, found when a configuration is read; `create` finds the same.
   * Paths begin with `schedulingProfiles`, or are those of its parameters.
   */
  faults?(config: Config, names: HandlerNames): readonly ConfigIssue[];
  /** Throws ConfigError when it cannot run the profiles. */
  create(config: Config, parts: HandlerParts, runtime: Runtime): ProfileHandler & Observer;
}

/** How a data source reads and updates the pool. */
export interface EndpointWriter {
  /** The current endpoints. The array and its elements never change. */
  snapshot(): readonly Endpoint[];
  /** Ignores a sample of a removed endpoint, and one older than the present sample. */
  observe(id: EndpointId, metrics: EndpointMetrics): void;
  set<T>(id: EndpointId, key: AttributeKey<T>, value: T): void;
}

/** Computes one fact of a cycle. */
export interface CycleFact<T> {
  readonly key: CycleKey<T>;
  compute(endpoints: readonly Endpoint[], context: SchedulingContext): T;
}

/** Times what ends later than the call that begins it. */
export interface Stopwatch {
  now(): Millis;
  observe(tookMs: Millis): void;
}

/** Provides facts to scorers and filters. */
export interface FactProvider {
  readonly facts?: readonly CycleFact<unknown>[];
}

/** Does before the decision what takes time. */
export interface RequestPreparation {
  /**
   * Prepares what its facts need and what takes time, such as a tokenizer's answer. `body` is the
   * whole body as received, valid during this call. Returns false where nothing has to be waited
   * for. Otherwise it calls `ready` once, later, within a time limit of its own, also after a
   * failure. Where it calls `ready` before it returns, or throws, the request does not wait for it;
   * a second call has no effect, and after a minute the request goes on without it.
   */
  prepare?(request: InferenceRequest, body: readonly Uint8Array[], ready: () => void): boolean;
}

/** Has its work measured, where metrics are kept. */
export interface TimedSource {
  /** Gets what times its answers to other plugins, such as a prompt's tokens. */
  timeAnswers?(stopwatch: Stopwatch): void;
  /** Gets what times each look-up of a prompt in its index. */
  timeLookups?(stopwatch: Stopwatch): void;
}

/**
 * A plugin outside the profiles, as `dataSources` of a catalogue lists them. Its methods say what
 * kind it is: one that scrapes servers writes to the pool, and a producer, screener, admitter or
 * reporter has the method that the type below requires.
 */
export interface DataSource
  extends Observer,
    RequestControl,
    FactProvider,
    RequestPreparation,
    TimedSource {
  stop(): void;
}

/** Provides facts. */
export type Producer = DataSource & Required<FactProvider>;
/** Leaves endpoints out before any profile runs. */
export type Screener = DataSource & Required<Pick<RequestControl, 'screen'>>;
/** Refuses requests. */
export type Admitter = DataSource & Required<Pick<RequestControl, 'admit'>>;
/** Reports numbers about answers to the proxy. */
export type Reporter = DataSource & Required<ResponseReporter>;

export interface DataSourceHost {
  /** The plugin's name in the configuration. */
  readonly name: string;
  readonly pool: EndpointWriter;
  readonly runtime: Runtime;
  /**
   * For timers that are no consequence of a request, such as that of the next page to read, where
   * they are set while a request is decided. `redecide` repeats timers of `runtime.clock` that are
   * set then, and has no pages to read. The clock of `runtime` when left out.
   */
  readonly timers?: Clock;
}

export interface DataSourceDefinition<Config = unknown, Source extends DataSource = DataSource>
  extends Definition<Config> {
  /** The keys of the facts that a source with this name provides. */
  provides?(config: Config, name: string): readonly CycleKey<unknown>[];
  start(config: Config, host: DataSourceHost): Source;
}

export interface SchedulerHost {
  /** Real, also where the decision core's runtime is simulated or replayed. */
  readonly runtime: Runtime;
  /** The decision core's time, which samples and requests have. */
  now(): Millis;
}

export interface SchedulerDefinition<Config = unknown> extends Definition<Config> {
  create(config: Config, host: SchedulerHost): ReplacementScheduler;
}

/** Every plugin type that a configuration may name, by kind. */
export interface PluginCatalogue {
  readonly filters: readonly FilterDefinition[];
  readonly scorers: readonly ScorerDefinition[];
  readonly pickers: readonly PickerDefinition[];
  readonly profileHandlers: readonly ProfileHandlerDefinition[];
  readonly deciders: readonly DeciderDefinition[];
  readonly dataSources: readonly DataSourceDefinition[];
  /** Schedulers that can decide in place of the profiles. */
  readonly schedulers: readonly SchedulerDefinition[];
}

// The define functions infer Config from the schema, check both against each other, and then hide
// Config: `create` must only get what the definition's own `config.parse` returned.

export function defineFilter<Config>(definition: FilterDefinition<Config>): FilterDefinition {
  return definition as FilterDefinition;
}

export function defineScorer<Config>(definition: ScorerDefinition<Config>): ScorerDefinition {
  return definition as ScorerDefinition;
}

export function definePicker<Config>(definition: PickerDefinition<Config>): PickerDefinition {
  return definition as PickerDefinition;
}

export function defineDecider<Config>(definition: DeciderDefinition<Config>): DeciderDefinition {
  return definition as DeciderDefinition;
}

export function defineProfileHandler<Config>(
  definition: ProfileHandlerDefinition<Config>,
): ProfileHandlerDefinition {
  return definition as ProfileHandlerDefinition;
}

export function defineDataSource<Config>(
  definition: DataSourceDefinition<Config>,
): DataSourceDefinition {
  return definition as DataSourceDefinition;
}

export function defineScreener<Config>(
  definition: DataSourceDefinition<Config, Screener>,
): DataSourceDefinition {
  return definition as DataSourceDefinition;
}

export function defineAdmitter<Config>(
  definition: DataSourceDefinition<Config, Admitter>,
): DataSourceDefinition {
  return definition as DataSourceDefinition;
}

export function defineReporter<Config>(
  definition: DataSourceDefinition<Config, Reporter>,
): DataSourceDefinition {
  return definition as DataSourceDefinition;
}

export function defineScheduler<Config>(
  definition: SchedulerDefinition<Config>,
): SchedulerDefinition {
  return definition as SchedulerDefinition;
}
