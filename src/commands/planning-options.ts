import type { Command } from 'commander';
import { type ServiceObjective, STUDY_OBJECTIVE } from '../lab/run-summary/service-objective.ts';
import type { Prices } from '../lab/simulate/capacity-plan.ts';
import { shapesOf } from '../lab/simulate/what-if.ts';
import { above0, share } from './option-values.ts';

/** The options about capacity. */
export interface PlanningFlags {
  readonly sloTtft: number;
  readonly sloTpot: number;
  readonly sloShare: number;
  readonly findSaturation: boolean;
  readonly whatIf: readonly string[];
  readonly price: Prices;
}

export interface Planning {
  readonly objective: ServiceObjective;
  /** Whether to find the highest load that meets the objective. */
  readonly findSaturation: boolean;
  /** Shapes of the pool; undefined, for the pool as it is, comes first. */
  readonly shapes: readonly (string | undefined)[];
  /** Without a price an accelerator-hour costs 1, so that costs are in accelerator-hours. */
  readonly prices: Prices;
  readonly priced: boolean;
}

export function addPlanningOptions(command: Command): Command {
  const objective = STUDY_OBJECTIVE;
  return command
    .option(
      '--slo-ttft <ms>',
      'an answer is good if its first token comes sooner than this',
      above0,
      objective.ttftMs,
    )
    .option(
      '--slo-tpot <ms>',
      'and each further token takes less than this on average',
      above0,
      objective.tpotMs,
    )
    .option(
      '--slo-share <share>',
      'the objective: this share of the answers is good',
      share,
      objective.share,
    )
    .option('--find-saturation', 'also find the highest load that meets the objective', false)
    .option(
      '--what-if <change>',
      'also simulate a changed pool, with its highest load and its cost; may be repeated: add-replica, ' +
        'remove-replica, replicas=4..12, kv×2, speed×1.5, prefill:decode=2:6, preset=NAME, a+b',
      (change: string, before: readonly string[]) => [...before, change],
      [],
    )
    .option(
      '--price <[preset=]price>',
      'price of an accelerator per hour; may be repeated with several presets',
      withPrice,
      new Map(),
    );
}

/** Throws ConfigError for a change that cannot be read. */
export function planningOf(flags: PlanningFlags): Planning {
  const { sloTtft, sloTpot, sloShare, findSaturation, whatIf, price } = flags;
  const priced = price.size > 0;
  return {
    objective: { ttftMs: sloTtft, tpotMs: sloTpot, share: sloShare },
    findSaturation: findSaturation || whatIf.length > 0,
    shapes: [undefined, ...new Set(whatIf.flatMap(shapesOf))],
    prices: priced ? price : new Map([['', 1]]),
    priced,
  };
}

function withPrice(text: string, before: Prices): Prices {
  const [price = '', preset = ''] = text.split('=').reverse();
  return new Map([...before, [preset, above0(price)]]);
}
