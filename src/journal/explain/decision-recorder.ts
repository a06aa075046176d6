import type { Clock } from '../../framework/runtime.ts';
import type { Scheduler, SchedulingResult, Scorer } from '../../framework/scheduling.ts';
import type { PluginUse, PluginWrap } from '../../picker/plan/instantiate.ts';
import { DecisionRing } from './decision-ring.ts';
import { DecisionWriter } from './decision-writer.ts';
import { type ProfileLayout, profileNumber, type ScorerLayout } from './layout.ts';
import { NO_SLOT } from './record-format.ts';
import type { Recording } from './recording.ts';
import { newColumns } from './scorer-columns.ts';

export interface RecorderOptions {
  readonly clock: Clock;
  /** So many decisions are kept at least, once there are as many, unless they take more than `bytesMax`. */
  readonly decisionsMax?: number;
  readonly bytesMax?: number;
}

const DECISIONS_MAX = 100_000;
const BYTES_MAX = 256 * 1024 * 1024;

/**
 * Writes down decisions as they are made, from around the plugins and the scheduler: which endpoints there were, which a
 * filter dropped, what each scorer went by, whom the picker picked. Bytes only, nothing that a collector of garbage would
 * have to follow; what can be worked out again is left out.
 */
export class DecisionRecorder {
  readonly ring: DecisionRing;
  readonly #writer: DecisionWriter;
  /** Of the plan whose plugins are being made. */
  #made: Recording = { layout: [], columns: [] };
  #recording = false;

  constructor({ clock, decisionsMax = DECISIONS_MAX, bytesMax = BYTES_MAX }: RecorderOptions) {
    this.ring = new DecisionRing({ decisionsMax, bytesMax });
    const offset = (): number => clock.wallTime() - clock.now();
    this.#writer = new DecisionWriter(this.ring, offset);
  }

  /** The same, around what another wrap has made. */
  around(inner: PluginWrap): PluginWrap {
    const plugins = this.plugins();
    return {
      filter: (plugin, made, use) => plugins.filter(plugin, inner.filter(plugin, made, use), use),
      scorer: (plugin, made, use) => plugins.scorer(plugin, inner.scorer(plugin, made, use), use),
      picker: (plugin, made, use) => plugins.picker(plugin, inner.picker(plugin, made, use), use),
    };
  }

  /** For `wrapPlugin`: what is put around one plan's plugins. */
  plugins(): PluginWrap {
    const recording: Recording = { layout: [], columns: [] };
    this.#made = recording;
    return {
      filter: ({ name }, filter, use) => {
        const { profile, layout } = profileOf(recording, use);
        const at = { profile, filter: layout.filters.push(name) - 1 };
        return {
          filter: (endpoints, context) => {
            const kept = filter.filter(endpoints, context);
            if (this.#recording) this.#writer.filtered(at, endpoints, kept);
            return kept;
          },
        };
      },
      scorer: ({ name, definition: { type } }, scorer, use) => {
        const layout = { name, type, weight: use.weight, account: scorer.account };
        return this.#recorded(recording, { layout, scorer, use });
      },
      picker: (_plugin, picker, use) => {
        const { profile } = profileOf(recording, use);
        return {
          pick: (candidates, context) => {
            const picked = picker.pick(candidates, context);
            if (this.#recording) this.#writer.picked(profile, candidates, picked);
            return picked;
          },
        };
      },
    };
  }

  /** For `wrapScheduler`: around the scheduler of the plan whose plugins were made last. */
  scheduler(scheduler: Scheduler): Scheduler {
    const recording = this.#made;
    return {
      schedule: (endpoints, context) => {
        // A slot is written in two bytes; a pool as large as that is not recorded.
        if (endpoints.length >= NO_SLOT) return scheduler.schedule(endpoints, context);
        this.#writer.begin(endpoints, context, recording);
        this.#recording = true;
        let result: SchedulingResult | undefined;
        try {
          result = scheduler.schedule(endpoints, context);
          return result;
        } finally {
          this.#recording = false;
          this.#writer.end(result);
        }
      },
    };
  }

  #recorded(
    recording: Recording,
    {
      layout,
      scorer,
      use,
    }: { readonly layout: ScorerLayout; readonly scorer: Scorer; readonly use: PluginUse },
  ): Scorer {
    const { account } = layout;
    const { profile, layout: own } = profileOf(recording, use);
    const at = { profile, scorer: own.scorers.push(layout) - 1 };
    const columns = newColumns(layout);
    recording.columns.push(columns);
    return {
      ...(account && { account }),
      score: (endpoints, context) => {
        const scores = scorer.score(endpoints, context);
        if (!this.#recording) return scores;
        if (account === undefined) this.#writer.scored(at, scores, columns);
        else this.#writer.accounted(at, account, columns);
        return scores;
      },
    };
  }
}

function profileOf(
  { layout }: Recording,
  { profile: name }: PluginUse,
): { readonly profile: number; readonly layout: ProfileLayout } {
  const profile = profileNumber(layout, name);
  return { profile, layout: layout[profile] as ProfileLayout };
}
