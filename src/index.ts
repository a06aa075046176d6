export { ConfigError, RoutingError } from './framework/error.ts';
export {
  defineDataSource,
  defineDecider,
  defineFilter,
  definePicker,
  defineProfileHandler,
  defineScheduler,
  defineScorer,
} from './framework/plugin.ts';
export type { RoutedRequest, RouteOptions } from './framework/routing.ts';
export type { Clock, Random, Timer } from './framework/runtime.ts';
export type {
  BodyRequest,
  CountedRequest,
  EmbeddedPicker,
  EndpointOptions,
  MetricsSample,
  PickerOptions,
} from './library/create-picker.ts';
export { createPicker, pickerMaker } from './library/picker-maker.ts';
export { nodeClock } from './runtime/node-clock.ts';
export { SimulatedClock } from './runtime/simulated-clock.ts';
