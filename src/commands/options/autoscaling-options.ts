import type { Command } from 'commander';
import {
  DEFAULT_LEAD_MS,
  DEFAULT_OBJECTIVE,
  DEFAULT_TARGET,
} from '../../journal/headroom/headroom.ts';
import type { AutoscalingOptions } from '../../serve/autoscaling/start-autoscaling.ts';
import { atLeastOne, port, share } from './option-values.ts';

/** Flags of `serve` about what autoscalers read, which `startServe` takes as they are. */
export type AutoscalingFlags = AutoscalingOptions;

export function addAutoscalingOptions(command: Command): Command {
  return command
    .option(
      '--slo-ttft-ms <ms>',
      'an answer is good whose first token comes within this: capacity is what is served so',
      atLeastOne,
      DEFAULT_OBJECTIVE.ttftMs,
    )
    .option(
      '--slo-tpot-ms <ms>',
      'and whose further tokens take at most this each, on average',
      atLeastOne,
      DEFAULT_OBJECTIVE.tpotMs,
    )
    .option(
      '--autoscaling-target <share>',
      'the share of the capacity for which replicas are wanted',
      share,
      DEFAULT_TARGET,
    )
    .option(
      '--autoscaling-lead-ms <ms>',
      'how long a new replica takes to serve: demand is foreseen for so long',
      atLeastOne,
      DEFAULT_LEAD_MS,
    )
    .option('--scaler-port <port>', 'answer KEDA as an external scaler on this port', port);
}
