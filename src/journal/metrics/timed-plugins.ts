import type { Clock } from '../../framework/runtime.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';
import type { PluginWrap } from '../../picker/plan/instantiate.ts';
import type { PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import type { PickerMetrics } from './metrics.ts';
import type { Tally } from './page/tally.ts';
import type { ExtensionPoint } from './requests/decision-families.ts';

/** Times each call of each plugin: two readings of the clock, no allocation and no look-up. */
export function timedPlugins(metrics: PickerMetrics, clock: Pick<Clock, 'now'>): PluginWrap {
  // Plugins of a configuration that is loaded again keep their histograms.
  const histograms = new Map<string, Tally>();

  function timed<Input, Output>(
    extensionPoint: ExtensionPoint,
    { name, definition: { type } }: PlannedPlugin,
    run: (input: Input, context: SchedulingContext) => Output,
  ): (input: Input, context: SchedulingContext) => Output {
    const key = JSON.stringify([extensionPoint, type, name]);
    const seconds =
      histograms.get(key) ?? metrics.decisions.pluginSeconds({ extensionPoint, type, name });
    histograms.set(key, seconds);
    return (input, context) => {
      const startedAt = clock.now();
      const output = run(input, context);
      seconds.observe((clock.now() - startedAt) / 1000);
      return output;
    };
  }

  return {
    filter: (plugin, filter) => ({ filter: timed('Filter', plugin, filter.filter.bind(filter)) }),
    scorer: (plugin, scorer) => ({
      ...(scorer.explain && { explain: scorer.explain.bind(scorer) }),
      score: timed('Scorer', plugin, scorer.score.bind(scorer)),
    }),
    picker: (plugin, picker) => ({ pick: timed('Picker', plugin, picker.pick.bind(picker)) }),
  };
}
