import { EMBEDDED_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { withPlugins } from '../catalogue/load-plugins.ts';
import { createPickerFrom, type EmbeddedPicker, type PickerOptions } from './create-picker.ts';

/** `createPicker` with the plugin types of these modules, too. Rejects with ConfigError when one cannot be used. */
export async function pickerMaker(
  plugins: readonly string[],
): Promise<(options: PickerOptions) => EmbeddedPicker> {
  const catalogue = await withPlugins(EMBEDDED_CATALOGUE, plugins);
  return (options) => createPickerFrom(catalogue, options);
}

/** An endpoint picker in the caller's process. Throws ConfigError when the configuration cannot be run. */
export function createPicker(options: PickerOptions): EmbeddedPicker {
  return createPickerFrom(EMBEDDED_CATALOGUE, options);
}
