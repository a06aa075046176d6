// The package `pointsman`: a picker in the caller's process, and all that a plugin's author needs.

export {
  cheaperIsBetter,
  lowerIsBetter,
  lowerMetricIsBetter,
  metricScore,
} from '../scorers/scores/normalize.ts';
export type { Dropped, QueueDiscipline, ReadyGroup, Served, Waiting } from './flow/discipline.ts';
export type {
  Demand,
  EngineModelView,
  InFlightLoad,
  InFlightView,
  ModelsInFlightView,
  PrefixMatch,
  StepTime,
} from './framework/cycle-facts.ts';
export {
  ENGINE_MODEL,
  IN_FLIGHT,
  MODELS_IN_FLIGHT,
  prefixMatchKey,
} from './framework/cycle-facts.ts';
export type {
  AttributeKey,
  Endpoint,
  EndpointId,
  EndpointMetrics,
} from './framework/endpoint.ts';
export { attributeKey, isFresh, METRICS_STALE_MS } from './framework/endpoint.ts';
export type { CacheConfig, LoraState } from './framework/endpoint-attributes.ts';
export { CACHE_CONFIG, CUSTOM_METRICS, LORA, STARTED_AT } from './framework/endpoint-attributes.ts';
export type { ConfigIssue, PluginFault, RoutingErrorCode } from './framework/error.ts';
export { ConfigError, RoutingError } from './framework/error.ts';
export type {
  EndpointObserver,
  Observer,
  Outcome,
  RequestObserver,
  Routed,
  Usage,
} from './framework/observer.ts';
export type {
  CycleFact,
  DataSource,
  DataSourceDefinition,
  DataSourceHost,
  DeciderDefinition,
  EndpointWriter,
  FilterDefinition,
  HandlerParts,
  HeaderUse,
  PickerDefinition,
  PluginCatalogue,
  ProfileHandlerDefinition,
  SchedulerDefinition,
  SchedulerHost,
  Schema,
  ScorerDefinition,
} from './framework/plugin.ts';
export {
  defineDataSource,
  defineDecider,
  defineFilter,
  definePicker,
  defineProfileHandler,
  defineScheduler,
  defineScorer,
} from './framework/plugin.ts';
export type { Declined, ReplacementScheduler } from './framework/replacement.ts';
export type { InferenceRequest, PromptBlocks } from './framework/request.ts';
export { NO_BLOCKS } from './framework/request.ts';
export type { RoutedRequest, RouteOptions } from './framework/routing.ts';
export type { Clock, Millis, Network, Random, Runtime, Timer } from './framework/runtime.ts';
export type {
  CycleKey,
  Decider,
  Decision,
  Filter,
  Picker,
  ProfileHandler,
  ProfileResult,
  SchedulingContext,
  SchedulingProfile,
  ScoredEndpoint,
  Scorer,
} from './framework/scheduling.ts';
export { cycleKey } from './framework/scheduling.ts';
export type {
  EmbeddedPicker,
  EndpointOptions,
  MetricsSample,
  PickerOptions,
} from './library/create-picker.ts';
export { createPicker, pickerMaker } from './library/picker-maker.ts';
export type { BodyRequest, CountedRequest } from './library/request-reader.ts';
export { nodeClock } from './runtime/clock/node-clock.ts';
export { SimulatedClock } from './runtime/clock/simulated-clock.ts';
export { seededRandom } from './runtime/seeded-random.ts';
