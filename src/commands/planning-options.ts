import { type Command, InvalidArgumentError } from 'commander';
import { type ServiceObjective, STUDY_OBJECTIVE } from '../lab/run-summary/service-objective.ts';
import type { Prices } from '../lab/simulate/capacity-plan.ts';
import { shapesOf } from '../lab/simulate/what-if.ts';

/** What is asked about capacity, as flags have it. */
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
  /** Whether limits are wanted. */
  readonly findSaturation: boolean;
  /** Of the pool, the one it has first: undefined. */
  readonly shapes: readonly (string | undefined)[];
  /** An accelerator-hour costs 1 where no price was given: costs are then accelerator-hours. */
  readonly prices: Prices;
  readonly priced: boolean;
}

export function addPlanningOptions(command: Command): Command {
  const { ttftMs, tpotMs, share } = STUDY_OBJECTIVE;
  return command
    .option('--slo-ttft <ms>', 'an answer is good whose first token comes sooner', above0, ttftMs)
    .option('--slo-tpot <ms>', 'and each further token', above0, tpotMs)
    .option('--slo-share <share>', 'the objective: so many of the answers are good', shareOf, share)
    .option('--find-saturation', 'also find the highest load that meets the objective', false)
    .option(
      '--what-if <change>',
      'also with the pool changed, each with its limit and cost; several times: add-replica, ' +
        'remove-replica, replicas=4..12, kv×2, speed×1.5, prefill:decode=2:6, preset=NAME, a+b',
      (change: string, before: readonly string[]) => [...before, change],
      [],
    )
    .option(
      '--price <[preset=]price>',
      'of an accelerator for an hour; several times for several presets',
      withPrice,
      new Map(),
    );
}

/** Throws ConfigError where a change cannot be read. */
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

function above0(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError(`${text} is not a number above 0`);
}

function shareOf(text: string): number {
  const value = above0(text);
  if (value <= 1) return value;
  throw new InvalidArgumentError(`${text} is above 1: it is a share, as 0.95`);
}
