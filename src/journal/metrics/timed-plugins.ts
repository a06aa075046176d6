import type { Stopwatch } from '../../framework/plugin.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';
import type { PluginWrap } from '../../picker/plan/instantiate.ts';
import type { PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import type { PickerMetrics } from './metrics.ts';
import type { Tally } from './page/tally.ts';
import type { ExtensionPoint } from './requests/decision-families.ts';

type Call<Input, Output> = (input: Input, context: SchedulingContext) => Output;

/**
 * Times each call of each plugin: two readings of the clock, no allocation and no look-up. A data
 * source is called for its preparations, which last until the request may go on, for what other
 * plugins ask of it, and for each of its facts.
 */
export function timedPlugins(metrics: PickerMetrics, clock: Pick<Clock, 'now'>): PluginWrap {
  const secondsOf = histogramsOf(metrics);

  function timed<Input, Output>(seconds: Tally, run: Call<Input, Output>): Call<Input, Output> {
    return (input, context) => {
      const startedAt = clock.now();
      const output = run(input, context);
      seconds.observe((clock.now() - startedAt) / 1000);
      return output;
    };
  }

  const stopwatch = (seconds: Tally): Stopwatch => ({
    now: () => clock.now(),
    observe: (tookMs) => seconds.observe(tookMs / 1000),
  });

  return {
    fact: (plugin, fact) => ({
      key: fact.key,
      compute: timed(secondsOf('DataProducer', plugin), fact.compute.bind(fact)),
    }),
    preparations: (plugin) => stopwatch(secondsOf('DataProducer', plugin)),
    lookups: () => stopwatch(metrics.decisions.lookupSeconds()),
    filter: (plugin, filter) => ({
      filter: timed(secondsOf('Filter', plugin), filter.filter.bind(filter)),
    }),
    scorer: (plugin, scorer) => ({
      ...(scorer.explain && { explain: scorer.explain.bind(scorer) }),
      score: timed(secondsOf('Scorer', plugin), scorer.score.bind(scorer)),
    }),
    picker: (plugin, picker) => {
      const seconds = secondsOf('Picker', plugin);
      return {
        pick: timed(seconds, picker.pick.bind(picker)),
        ...(picker.pickFrom && { pickFrom: timed(seconds, picker.pickFrom.bind(picker)) }),
      };
    },
  };
}

/** The histogram of a plugin: the same one after its configuration is loaded again. */
function histogramsOf({
  decisions,
}: PickerMetrics): (point: ExtensionPoint, plugin: PlannedPlugin) => Tally {
  const histograms = new Map<string, Tally>();
  return (extensionPoint, { name, definition: { type } }) => {
    const key = JSON.stringify([extensionPoint, type, name]);
    const seconds = histograms.get(key) ?? decisions.pluginSeconds({ extensionPoint, type, name });
    histograms.set(key, seconds);
    return seconds;
  };
}
