import { scorers } from '../scorers/index.ts';
import { builtInCatalogue } from './config/catalogue.ts';
import { createPickerFrom, type EmbeddedPicker, type PickerOptions } from './create-picker.ts';
import { dataSources } from './datalayer/data-sources.ts';

export type {
  BodyRequest,
  CountedRequest,
  EmbeddedPicker,
  EndpointOptions,
  MetricsSample,
  PickerOptions,
} from './create-picker.ts';
export { ConfigError, RoutingError } from './framework/error.ts';
export type { RoutedRequest, RouteOptions } from './framework/routing.ts';
export type { Clock, Random, Timer } from './framework/runtime.ts';
export { nodeClock } from './runtime/node-clock.ts';
export { SimulatedClock } from './sim/simulated-clock.ts';

/** An endpoint picker in the caller's process. Throws ConfigError when the configuration cannot be run. */
export function createPicker(options: PickerOptions): EmbeddedPicker {
  return createPickerFrom(builtInCatalogue(scorers, dataSources), options);
}
