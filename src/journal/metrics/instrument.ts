import type { Clock } from '../../framework/runtime.ts';
import type { Filter, Picker, Scheduler, Scorer } from '../../framework/scheduling.ts';
import type { ExtensionPoint } from './decision-families.ts';
import type { PickerMetrics } from './metrics.ts';
import type { Tally } from './tally.ts';

/** What a wrapper must know of a plugin: its name in the configuration and its type. */
export interface InstrumentedPlugin {
  readonly name: string;
  readonly definition: { readonly type: string };
}

export interface PluginInstruments {
  filter(plugin: InstrumentedPlugin, filter: Filter): Filter;
  scorer(plugin: InstrumentedPlugin, scorer: Scorer): Scorer;
  picker(plugin: InstrumentedPlugin, picker: Picker): Picker;
}

/** Wrappers that time what they are put around and give back the same interface. */
export interface Instrumentation {
  readonly plugins: PluginInstruments;
  /** Times the whole cycle and counts its outcome; a cycle that throws counts as a failure. */
  readonly scheduler: (scheduler: Scheduler) => Scheduler;
}

/** Two readings of the clock a call; no allocation, no look-up. */
export function instrumentation(metrics: PickerMetrics, clock: Clock): Instrumentation {
  return {
    plugins: timedPlugins(metrics, clock),
    scheduler: (scheduler) => timedScheduler(scheduler, metrics, clock),
  };
}

function timedPlugins(metrics: PickerMetrics, clock: Clock): PluginInstruments {
  // A configuration that is loaded again names them again.
  const known = new Map<string, Tally>();
  const secondsOf = (
    extensionPoint: ExtensionPoint,
    { name, definition: { type } }: InstrumentedPlugin,
  ): Tally => {
    const key = JSON.stringify([extensionPoint, type, name]);
    const seconds =
      known.get(key) ?? metrics.decisions.pluginSeconds({ extensionPoint, type, name });
    known.set(key, seconds);
    return seconds;
  };

  return {
    filter(plugin, filter) {
      const seconds = secondsOf('Filter', plugin);
      return {
        filter(endpoints, context) {
          const startedAt = clock.now();
          const kept = filter.filter(endpoints, context);
          seconds.observe((clock.now() - startedAt) / 1000);
          return kept;
        },
      };
    },
    scorer(plugin, scorer) {
      const seconds = secondsOf('Scorer', plugin);
      return {
        ...(scorer.account && { account: scorer.account }),
        score(endpoints, context) {
          const startedAt = clock.now();
          const scores = scorer.score(endpoints, context);
          seconds.observe((clock.now() - startedAt) / 1000);
          return scores;
        },
      };
    },
    picker(plugin, picker) {
      const seconds = secondsOf('Picker', plugin);
      return {
        pick(candidates, context) {
          const startedAt = clock.now();
          const picked = picker.pick(candidates, context);
          seconds.observe((clock.now() - startedAt) / 1000);
          return picked;
        },
      };
    },
  };
}

function timedScheduler(scheduler: Scheduler, metrics: PickerMetrics, clock: Clock): Scheduler {
  const { decisions } = metrics;
  return {
    schedule(endpoints, context) {
      const startedAt = clock.now();
      const { model } = context.request;
      try {
        const result = scheduler.schedule(endpoints, context);
        const { primary } = result;
        const target = primary.kind === 'picked' ? primary.targets[0]?.endpoint : undefined;
        decisions.attempt(model, target).value += 1;
        return result;
      } catch (error) {
        decisions.attempt(model, undefined).value += 1;
        throw error;
      } finally {
        decisions.schedulerSeconds.observe((clock.now() - startedAt) / 1000);
      }
    },
  };
}
