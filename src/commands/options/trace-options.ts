import { type Command, Option } from 'commander';
import { ConfigError } from '../../framework/error.ts';
import { parseColumns } from '../../lab/traces/columns/trace-columns.ts';
import { TRACE_FORMATS } from '../../lab/traces/reading/find-format.ts';
import type { LoadOptions } from '../../lab/traces/reading/load-trace.ts';
import { anyNumber, atLeastOne, collect, share } from './option-values.ts';

/** How a trace is read and changed before it is used, for the commands that take one. */
export interface TraceFlags {
  readonly from?: string;
  readonly columns?: string;
  readonly lenient: boolean;
  readonly merge: readonly string[];
  readonly shift: number;
  readonly loop: number;
  readonly thin: number;
  readonly requests?: number;
}

export function addTraceOptions(command: Command): Command {
  const readable = [...TRACE_FORMATS.map(({ name }) => name), 'capture'];
  return command
    .addOption(new Option('--from <format>', 'format, if not by the first line').choices(readable))
    .option(
      '--columns <list>',
      'which column, or field of JSON, is what, in a file of no known format: ' +
        'time_s=NAME,prompt=NAME,output=NAME',
    )
    .option('--lenient', 'skip and count bad lines, and sort requests that are out of order', false)
    .option('--merge <file>', 'add the requests of another trace; may be repeated', collect, [])
    .option('--shift <ms>', 'start the traces of --merge, or else this one, later', anyNumber, 0)
    .option('--loop <times>', 'repeat the trace this many times', atLeastOne, 1)
    .option('--thin <share>', 'keep this share of the conversations, such as 0.25', share, 1)
    .option('--requests <n>', 'take only the first n requests, after these changes', atLeastOne);
}

/** Throws ConfigError if the options contradict each other. */
export function loadOptionsOf(flags: TraceFlags): Omit<LoadOptions, 'sessions'> {
  const { from, lenient, merge, shift, loop, thin, requests } = flags;
  const columns = flags.columns === undefined ? undefined : parseColumns(flags.columns);
  if (from !== undefined && columns !== undefined) {
    const message = `says what the columns are, and so does the format ${from} of --from: give one of them`;
    throw new ConfigError('trace', [{ path: '--columns', message }]);
  }
  if (shift < 0 && merge.length === 0) {
    const message = `${shift} ms is before the start; only traces given with --merge can start earlier`;
    throw new ConfigError('trace', [{ path: '--shift', message }]);
  }
  return { from, columns, lenient, shape: { merge, shiftMs: shift, loop, thin, requests } };
}
