import { Command, Option } from 'commander';
import { refuseOverwriting } from '../files/refuse-overwriting.ts';
import { formatNamed, TRACE_FORMATS } from '../lab/traces/reading/find-format.ts';
import { loadTrace } from '../lab/traces/reading/load-trace.ts';
import { addShapeOptions, type ShapeFlags, shapeOf } from '../lab/traces/shape-options.ts';
import type { Trace, TraceRequest } from '../lab/traces/trace.ts';
import type { Carried, TraceFormat } from '../lab/traces/trace-format.ts';
import { writeTrace } from '../lab/traces/write-trace.ts';
import { fromOption } from './from-option.ts';

interface ConvertFlags extends ShapeFlags {
  readonly from?: string;
  readonly to: string;
  readonly lenient: boolean;
  readonly json: boolean;
}

/** `pointsman trace`. */
export function traceCommand(): Command {
  const writable = TRACE_FORMATS.filter(({ write }) => write !== undefined);
  const convert = new Command('convert')
    .description('read a trace, or a capture’s folder, and write it in another format')
    .argument('<in>', 'a trace, plain, .zst or .gz, or a folder that `serve --capture` has written')
    .argument('<out>', 'packed if it ends in .zst or .gz')
    .addOption(fromOption())
    .addOption(
      new Option('--to <format>', 'the format to write')
        .choices(writable.map(({ name }) => name))
        .default('pointsman'),
    )
    .option('--lenient', 'leave out bad lines and count them, sort what is out of order', false)
    .option('--json', 'print one JSON document', false)
    .addHelpText('after', `\nFormats:\n${TRACE_FORMATS.map(aboutFormat).join('\n')}`)
    .action((from: string, to: string, flags: ConvertFlags) => {
      const { lenient, from: named } = flags;
      refuseOverwriting(to, [from, ...flags.merge]);
      const trace = loadTrace(from, { lenient, from: named, shape: shapeOf(flags) });
      const format = formatNamed(flags.to);
      writeTrace(to, trace, format);
      const lost = lostIn(trace, format);
      const { requests, repaired, notes } = trace;
      const summary = { requests: requests.length, repaired, notes, lost };
      process.stdout.write(flags.json ? `${JSON.stringify(summary)}\n` : told(to, summary));
    });
  return new Command('trace').description('work on traces').addCommand(addShapeOptions(convert));
}

function aboutFormat({ name, about, carries, write }: TraceFormat): string {
  const more = carries.map((each) => CARRIED[each]).join(', ');
  const only = write === undefined ? ' (only read)' : '';
  return `  ${name.padEnd(15)} ${about}${only}: times, sizes${more === '' ? '' : `, ${more}`}`;
}

const CARRIED: Readonly<Record<Carried, string>> = {
  blockIds: 'shared prefixes',
  model: 'models',
  session: 'sessions',
  thinkMs: 'pauses before turns',
  seen: 'what became of requests',
};

/** What the trace has and the format has no place for. */
function lostIn({ requests }: Trace, { carries }: TraceFormat): readonly string[] {
  const has: Readonly<Record<Carried, (request: TraceRequest) => boolean>> = {
    blockIds: ({ blockIds }) => blockIds.length > 0,
    model: ({ model }) => model !== '',
    session: ({ session }) => session !== undefined,
    thinkMs: ({ thinkMs }) => thinkMs !== undefined,
    seen: ({ seen }) => seen !== undefined,
  };
  return (Object.keys(CARRIED) as readonly Carried[])
    .filter((each) => !carries.includes(each) && requests.some(has[each]))
    .map((each) => CARRIED[each]);
}

function told(
  path: string,
  {
    requests,
    repaired,
    notes,
    lost,
  }: {
    readonly requests: number;
    readonly repaired: number;
    readonly notes: readonly string[];
    readonly lost: readonly string[];
  },
): string {
  const lines = [`wrote ${requests} requests to ${path}`];
  if (repaired > 0) lines.push(`${repaired} lines left out or mended`);
  lines.push(...notes);
  if (lost.length > 0) lines.push(`the format has no place for: ${lost.join(', ')}`);
  return `${lines.join('\n')}\n`;
}
