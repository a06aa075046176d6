import { type ConfigError, commandLineError } from '../../framework/error.ts';
import type { Observer } from '../../framework/observer.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import type { ListenOptions, ServeOptions } from './serve-options.ts';

/** Plugins that answer for each answer while the proxy waits. */
const REPORTERS: readonly string[] = ['request-attribute-reporter'];

/** Throws ConfigError for what I/O workers cannot do. */
export function checkIoWorkers(
  {
    ioWorkers = 0,
    observe = false,
  }: Pick<ListenOptions, 'ioWorkers'> & Pick<ServeOptions, 'observe'>,
  { plugins }: Pick<PickerPlan, 'plugins'>,
): void {
  if (ioWorkers === 0) return;
  if (observe) throw refusal('cannot be used with --observe, which decides nothing: leave it out');
  const planned = plugins.find(({ definition }) => REPORTERS.includes(definition.type))?.name;
  if (planned !== undefined) throw reporterRefusal(planned);
}

/** Throws ConfigError for plugins of `--plugin` that I/O workers cannot call. */
export function checkReporters(
  { ioWorkers = 0 }: Pick<ListenOptions, 'ioWorkers'>,
  plugins: readonly Observer[],
): void {
  if (ioWorkers === 0 || !plugins.some((each) => 'responseMetadata' in each)) return;
  throw reporterRefusal('of --plugin that has responseMetadata');
}

function reporterRefusal(which: string): ConfigError {
  return refusal(
    `cannot be used with plugin ${which}: it reports at the end of each answer, which would ` +
      'have to wait for it. Leave out one of them',
  );
}

function refusal(message: string): ConfigError {
  return commandLineError('--io-workers', message);
}
