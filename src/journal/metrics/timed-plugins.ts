import type { Clock } from '../../framework/runtime.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';
import type { PluginWrap } from '../../picker/plan/instantiate.ts';
import type { PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import type { PickerMetrics } from './metrics.ts';
import type { Tally } from './page/tally.ts';
import type { ExtensionPoint } from './requests/decision-families.ts';

/**
 * Times each call of each plugin: two readings of the clock, no allocation and no look-up. A data
 * source is called for its preparations, which last until the request may go on, for what other
 * plugins ask of it, and for each of its facts.
 */
export function timedPlugins(metrics: PickerMetrics, clock: Pick<Clock, 'now'>): PluginWrap {
  // Plugins of a configuration that is loaded again keep their histograms.
  const histograms = new Map<string, Tally>();

  function secondsOf(
    extensionPoint: ExtensionPoint,
    { name, definition: { type } }: PlannedPlugin,
  ): Tally {
    const key = JSON.stringify([extensionPoint, type, name]);
    const seconds =
      histograms.get(key) ?? metrics.decisions.pluginSeconds({ extensionPoint, type, name });
    histograms.set(key, seconds);
    return seconds;
  }

  function timed<Input, Output>(
    extensionPoint: ExtensionPoint,
    plugin: PlannedPlugin,
    run: (input: Input, context: SchedulingContext) => Output,
  ): (input: Input, context: SchedulingContext) => Output {
    const seconds = secondsOf(extensionPoint, plugin);
    return (input, context) => {
      const startedAt = clock.now();
      const output = run(input, context);
      seconds.observe((clock.now() - startedAt) / 1000);
      return output;
    };
  }

  return {
    fact: (plugin, fact) => ({
      key: fact.key,
      compute: timed('DataProducer', plugin, fact.compute.bind(fact)),
    }),
    preparations: (plugin) => {
      const seconds = secondsOf('DataProducer', plugin);
      return { now: () => clock.now(), observe: (tookMs) => seconds.observe(tookMs / 1000) };
    },
    lookups: () => {
      const seconds = metrics.decisions.lookupSeconds();
      return { now: () => clock.now(), observe: (tookMs) => seconds.observe(tookMs / 1000) };
    },
    filter: (plugin, filter) => ({ filter: timed('Filter', plugin, filter.filter.bind(filter)) }),
    scorer: (plugin, scorer) => ({
      ...(scorer.explain && { explain: scorer.explain.bind(scorer) }),
      score: timed('Scorer', plugin, scorer.score.bind(scorer)),
    }),
    picker: (plugin, picker) => ({
      pick: timed('Picker', plugin, picker.pick.bind(picker)),
      ...(picker.pickFrom && { pickFrom: timed('Picker', plugin, picker.pickFrom.bind(picker)) }),
    }),
  };
}
