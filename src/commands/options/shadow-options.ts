import { type Command, Option } from 'commander';
import type { ShadowData } from '../../shadow/shadow-data.ts';
import { collect, writtenBytes } from './option-values.ts';

/** Some millions of decisions. */
const SHADOW_LOG_BYTES_MAX = 1024 * 1024 * 1024;

export interface ShadowFlags {
  readonly shadow: readonly string[];
  readonly shadowState: ShadowData['state'];
  readonly shadowLog?: string;
  readonly shadowLogMaxBytes: number;
  /** True without a file that has a rule. */
  readonly promotion?: string | true;
  readonly observe: boolean;
}

/** Configurations that decide beside the one in charge, and whether they may replace it. */
export function addShadowOptions(command: Command): Command {
  return command
    .option(
      '--shadow <file|name>',
      'configuration that decides every request, too, without effect; may be repeated',
      collect,
      [],
    )
    .addOption(
      new Option(
        '--shadow-state <what>',
        'what a shadow’s later decisions build on: where requests went, or where it would have ' +
          'sent them',
      )
        .choices(['as-it-happened', 'as-if-decided'])
        .default('as-it-happened'),
    )
    .option('--shadow-log <file>', 'write the decisions of all shadows to this file as JSON Lines')
    .option(
      '--shadow-log-max-bytes <n>',
      'most bytes of that file and its three predecessors together',
      writtenBytes,
      SHADOW_LOG_BYTES_MAX,
    )
    .option(
      '--promotion [rule]',
      'allow shadows to decide requests: by `pointsman shadow promote`, and by the rule in this ' +
        'file; see docs/promotion.md',
    )
    .option(
      '--observe',
      'decide nothing: follow the picker whose ext_proc filter comes first, and compare it with ' +
        '--config as a shadow',
      false,
    );
}
