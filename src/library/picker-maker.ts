import { EMBEDDED_CATALOGUE, SERVING_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { withPlugins } from '../catalogue/load-plugins.ts';
import {
  createPickerFrom,
  type EmbeddedPicker,
  type EmbeddedPickerOptions,
  type PickerOptions,
} from './create-picker.ts';

/**
 * Loads modules with plugin types, as `--plugin` does, and gives a `createPicker` that knows them.
 * Rejects with ConfigError when a module cannot be used.
 */
export async function pickerMaker(
  modules: readonly string[],
): Promise<(options?: PickerOptions) => EmbeddedPicker> {
  const catalogue = await withPlugins(EMBEDDED_CATALOGUE, modules);
  return (options) => createPickerFrom(catalogue, options);
}

/** See `pickerMaker`, for simulations, which may ask schedulers in other processes, too. */
export async function simulatedPickerMaker(
  modules: readonly string[],
): Promise<(options?: EmbeddedPickerOptions) => EmbeddedPicker> {
  const catalogue = await withPlugins(SERVING_CATALOGUE, modules);
  return (options) => createPickerFrom(catalogue, options);
}

/**
 * An endpoint picker in the caller's process; without options the `default` policy in real time.
 * Throws ConfigError when the configuration cannot be run.
 */
export function createPicker(options?: PickerOptions): EmbeddedPicker {
  return createPickerFrom(EMBEDDED_CATALOGUE, options);
}
