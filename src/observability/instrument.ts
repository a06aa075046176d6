import type { PluginWrap } from '../config/instantiate.ts';
import type { PlannedPlugin } from '../config/load.ts';
import type { Clock } from '../framework/runtime.ts';
import type { Scheduler } from '../framework/scheduling.ts';
import type { PickerMetrics } from './metrics.ts';
import type { Tally } from './tally.ts';

export interface Instrumentation {
  readonly plugins: PluginWrap;
  scheduler(scheduler: Scheduler): Scheduler;
}

/** Wrappers that time what they wrap: the same interface out, nothing inside the decision loop knows. */
export function instrumentation(metrics: PickerMetrics, clock: Clock): Instrumentation {
  const tallyOf = (point: string, { name, definition }: PlannedPlugin): Tally =>
    metrics.pluginSeconds.child(`${point}\n${name}`, {
      extension_point: point,
      plugin_type: definition.type,
      plugin_name: name,
    });
  const timed = <T>(tally: Tally, run: () => T): T => {
    const startedAt = clock.now();
    const result = run();
    tally.observe((clock.now() - startedAt) / 1000);
    return result;
  };
  const cycles = metrics.schedulerSeconds.child('', {});
  return {
    plugins: {
      filter(plugin, inner) {
        const tally = tallyOf('Filter', plugin);
        return {
          filter: (endpoints, context) => timed(tally, () => inner.filter(endpoints, context)),
        };
      },
      scorer(plugin, inner) {
        const tally = tallyOf('Scorer', plugin);
        return {
          score: (endpoints, context) => timed(tally, () => inner.score(endpoints, context)),
        };
      },
      picker(plugin, inner) {
        const tally = tallyOf('Picker', plugin);
        return {
          pick: (candidates, context) => timed(tally, () => inner.pick(candidates, context)),
        };
      },
    },
    scheduler: (inner) => ({
      schedule: (endpoints, context) => timed(cycles, () => inner.schedule(endpoints, context)),
    }),
  };
}
