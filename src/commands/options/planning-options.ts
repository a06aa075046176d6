import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { PRESETS } from '../../../stub-server/presets/presets.ts';
import { type ServiceObjective, STUDY_OBJECTIVE } from '../../lab/run-summary/service-objective.ts';
import type { Prices } from '../../lab/simulate/server-plan.ts';
import { shapesOf } from '../../lab/simulate/what-if.ts';
import { above0, collect, share } from './option-values.ts';

export interface PlanningFlags {
  readonly sloTtft: number;
  readonly sloTpot: number;
  readonly sloShare: number;
  readonly findSaturation: boolean;
  readonly whatIf: readonly string[];
  readonly price: Prices;
}

interface Planning {
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
  const { ttftMs, tpotMs, share: goodShare } = STUDY_OBJECTIVE;
  return command
    .option('--slo-ttft <ms>', 'good answers have their first token sooner', above0, ttftMs)
    .option('--slo-tpot <ms>', 'and each further token, on average, in less', above0, tpotMs)
    .option('--slo-share <share>', 'this share of the answers must be good', share, goodShare)
    .option('--find-saturation', 'also find the highest load that meets the objective', false)
    .option(
      '--what-if <change>',
      'also simulate a changed pool, with its highest load and its cost; may be repeated: add-replica, ' +
        'remove-replica, replicas=4..12, kv×2, speed×1.5, prefill:decode=2:6, preset=NAME, a+b',
      collect,
      [],
    )
    .option('--price <[preset=]n>', 'of an accelerator-hour; repeatable', withPrice, new Map());
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
  if (preset !== '' && !(preset in PRESETS)) {
    const known = Object.keys(PRESETS).join(', ');
    throw new InvalidArgumentError(`${preset} is not a preset; the presets are ${known}.`);
  }
  return new Map([...before, [preset, above0(price)]]);
}
