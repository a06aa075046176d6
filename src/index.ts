import { scorers } from '../scorers/index.ts';
import { withPlugins } from './cli/load-plugins.ts';
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
export { nodeClock } from './runtime/node-clock.ts';
export { SimulatedClock } from './sim/simulated-clock.ts';

/** `createPicker` with the plugin types of these modules, too. Rejects with ConfigError when one cannot be used. */
export async function pickerMaker(
  plugins: readonly string[],
): Promise<(options: PickerOptions) => EmbeddedPicker> {
  const catalogue = await withPlugins(builtInCatalogue(scorers, dataSources), plugins);
  return (options) => createPickerFrom(catalogue, options);
}

/** An endpoint picker in the caller's process. Throws ConfigError when the configuration cannot be run. */
export function createPicker(options: PickerOptions): EmbeddedPicker {
  return createPickerFrom(builtInCatalogue(scorers, dataSources), options);
}
