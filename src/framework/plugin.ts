import type { AttributeKey, Endpoint, EndpointId, EndpointMetrics } from './endpoint.ts';
import type { EndpointObserver, RequestObserver } from './observer.ts';
import type { InferenceRequest } from './request.ts';
import type { Millis, Runtime } from './runtime.ts';
import type {
  CycleKey,
  Decider,
  Decision,
  Filter,
  Picker,
  ProfileHandler,
  SchedulingContext,
  SchedulingProfile,
  Scorer,
} from './scheduling.ts';

/** All the framework asks of a configuration schema; every zod schema has it. */
export interface Schema<T> {
  parse(raw: unknown): T;
}

/** A header of requests that a plugin reads. */
export interface HeaderUse {
  /** Lower-case. */
  readonly name: string;
  /**
   * `id`: only whether requests bring the same matters. `name`: it is compared with names of endpoints (also in base64),
   * their addresses and label values, or names of profiles; several are separated by commas.
   */
  readonly as: 'id' | 'name';
}

interface Definition<Config> {
  /** The name used in configuration files. */
  readonly type: string;
  readonly config: Schema<Config>;
  /** Facts that some data source must supply for this configuration; checked once, at start. */
  needs?(config: Config): readonly CycleKey<unknown>[];
  /** What it reads of a request's headers; a capture holds as much of them as it takes to decide again, and no other. */
  headers?(config: Config): readonly HeaderUse[];
  /** Its scores are made of hashes of the prompt, which a guess could be compared with: a capture leaves scores out then. */
  readonly hashesPrompt?: boolean;
}

/** Headers for the client that a plugin wants on the response of a request, such as a session's token. */
export interface ResponseHeaderPlugin {
  /**
   * `served` is the endpoint that answers, which may be a fallback; `reported` the address that the proxy says it used,
   * undefined where it says nothing. Lower-case names.
   */
  responseHeaders?(
    served: Endpoint,
    result: Decision,
    reported: string | undefined,
  ): Iterable<readonly [name: string, value: string]>;
}

/** A plugin's memory hears of requests and endpoints; nothing else may change it. */
export type Observer = RequestObserver & EndpointObserver & ResponseHeaderPlugin;

export interface FilterDefinition<Config = unknown> extends Definition<Config> {
  create(config: Config, runtime: Runtime): Filter & Observer;
}

export interface ScorerDefinition<Config = unknown> extends Definition<Config> {
  /** A scorer that filters, too, does so where it stands among the filters of its profile. */
  create(config: Config, runtime: Runtime): Scorer & Partial<Filter> & Observer;
}

export interface PickerDefinition<Config = unknown> extends Definition<Config> {
  create(config: Config, runtime: Runtime): Picker & Observer;
}

export interface DeciderDefinition<Config = unknown> extends Definition<Config> {
  create(config: Config, runtime: Runtime): Decider & Observer;
}

/** What a profile handler chooses from, by name. */
export interface HandlerParts {
  readonly profiles: ReadonlyMap<string, SchedulingProfile>;
  readonly deciders: ReadonlyMap<string, Decider>;
}

export interface ProfileHandlerDefinition<Config = unknown> extends Definition<Config> {
  /** Throws ConfigError when the profiles are not ones it can run. */
  create(config: Config, parts: HandlerParts, runtime: Runtime): ProfileHandler & Observer;
}

/** What a data source may do to the pool. */
export interface EndpointWriter {
  /** The present endpoints; the array and all in it never change. */
  snapshot(): readonly Endpoint[];
  /** Drops a sample for an endpoint that has gone, or one older than the sample held. */
  observe(id: EndpointId, metrics: EndpointMetrics): void;
  set<T>(id: EndpointId, key: AttributeKey<T>, value: T): void;
}

/** Works out one per-cycle fact. */
export interface CycleFact<T> {
  readonly key: CycleKey<T>;
  compute(endpoints: readonly Endpoint[], context: SchedulingContext): T;
}

export interface DataSource extends Observer {
  /** Facts it provides to scorers and filters. */
  readonly facts?: readonly CycleFact<unknown>[];
  /**
   * Gets ready what its facts need of a request that cannot be had at once, such as a tokenizer's answer. `body` is the
   * whole body as it came, valid during this call. False where nothing is waited for. Else it calls `ready` exactly
   * once, later, within a bound of its own, whether it succeeded or not.
   */
  prepare?(request: InferenceRequest, body: readonly Uint8Array[], ready: () => void): boolean;
  stop(): void;
}

export interface DataSourceHost {
  /** The plugin's name in the configuration, by which others refer to it. */
  readonly name: string;
  readonly pool: EndpointWriter;
  readonly runtime: Runtime;
}

export interface DataSourceDefinition<Config = unknown> extends Definition<Config> {
  /** The keys of the facts a source with this name will provide. */
  provides?(config: Config, name: string): readonly CycleKey<unknown>[];
  start(config: Config, host: DataSourceHost): DataSource;
}

/** Why a replacement leaves a request to the profiles; one of few, as it labels a metric. */
export interface Declined {
  readonly declined: string;
}

/** How a replacement fares, for metrics and people. */
export interface SchedulerStatus {
  /** What it calls itself. */
  readonly name: string;
  readonly connected: boolean;
  readonly breaker: 'closed' | 'open' | 'half-open';
  /** Answers that had no effect: later than the deadline, or to nothing that was asked. */
  readonly ignoredAnswers: number;
}

/** How a scheduler in place of the profiles fares. */
export interface ReplacementReport extends Partial<SchedulerStatus> {
  /** Requests that it has decided. */
  readonly decided: number;
  /** Those left to the profiles, by why. */
  readonly declined: ReadonlyMap<string, number>;
}

/** Decides in place of a configuration's profiles, which stay at hand for what it leaves to them. */
export interface ReplacementScheduler extends Observer {
  /**
   * As `Scheduler`: synchronous, and changes nothing. What it throws, and an answer that names another endpoint than those
   * given, counts as declined.
   */
  schedule(endpoints: readonly Endpoint[], context: SchedulingContext): Decision | Declined;
  /** As `DataSource.prepare`; `candidates` are the endpoints as they are now. */
  prepare?(request: InferenceRequest, candidates: Candidates, ready: () => void): boolean;
  status?(): SchedulerStatus;
  stop?(): void;
}

/** Where a request may go. */
export interface Candidates {
  readonly endpoints: readonly Endpoint[];
  /** No subset was asked for. */
  readonly all: boolean;
}

export interface SchedulerHost {
  /** Its clock is real also where the decision core's is not. */
  readonly runtime: Runtime;
  /** The decision core's time, which samples and requests carry. */
  now(): Millis;
}

export interface SchedulerDefinition<Config = unknown> extends Definition<Config> {
  create(config: Config, host: SchedulerHost): ReplacementScheduler;
}

/** Every plugin type a configuration may name, by kind. */
export interface PluginCatalogue {
  readonly filters: readonly FilterDefinition[];
  readonly scorers: readonly ScorerDefinition[];
  readonly pickers: readonly PickerDefinition[];
  readonly profileHandlers: readonly ProfileHandlerDefinition[];
  readonly deciders: readonly DeciderDefinition[];
  readonly dataSources: readonly DataSourceDefinition[];
  /** What may stand in place of the profiles. */
  readonly schedulers: readonly SchedulerDefinition[];
}

/** How a role fares whose endpoints must not be fewer than so many. */
export interface RoleMinimum {
  readonly role: string;
  readonly minReady: number;
  /** Endpoints of the pool that do this part of requests, whether alone or among others. */
  readonly ready: number;
}

/** A plugin that holds roles to a minimum; told to metrics and the log. */
export interface HoldsMinimums {
  roleMinimums(): readonly RoleMinimum[];
}

export function holdsMinimums(plugin: object): plugin is HoldsMinimums {
  return 'roleMinimums' in plugin && typeof plugin.roleMinimums === 'function';
}

// The define functions infer Config from the schema, check the two against each other, and forget it:
// whoever holds a definition passes `create` only what its own `config.parse` returned.

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

export function defineScheduler<Config>(
  definition: SchedulerDefinition<Config>,
): SchedulerDefinition {
  return definition as SchedulerDefinition;
}
