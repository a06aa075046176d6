import { Command, Option } from 'commander';
import { refuseOverwriting } from '../files/writing/refuse-overwriting.ts';
import { isStandardOutput } from '../files/writing/write-whole.ts';
import { formatNamed, TRACE_FORMATS } from '../lab/traces/reading/find-format.ts';
import {
  describeReading,
  readingOf,
  type TraceContent,
  type TraceReading,
  type TraceRequest,
} from '../lab/traces/trace.ts';
import type { OptionalField, TraceFormat } from '../lab/traces/trace-format.ts';
import { writeTrace } from '../lab/traces/write-trace.ts';
import { addTraceOptions, loadOptionsOf, type TraceFlags } from './options/trace-options.ts';
import { printable } from './output/printable.ts';
import { describeTrace } from './trace/describe-trace.ts';
import { descriptionText } from './trace/description-text.ts';
import { loadShowingProgress } from './trace/load-showing-progress.ts';

/** As commander has them where there is no terminal. */
const HELP_COLUMNS = 80;

interface ConvertFlags extends TraceFlags {
  readonly to: string;
  readonly json: boolean;
}

/** What `trace convert --json` prints. */
interface ConvertSummary extends TraceReading {
  /** What the trace has and the format cannot hold. */
  readonly lost: readonly string[];
}

export function traceCommand(): Command {
  const writable = TRACE_FORMATS.filter(({ write }) => write !== undefined);
  const convert = new Command('convert')
    .description('read a trace, or the folder of a capture, and write it in another format')
    .argument('<in>', 'a trace, plain, .zst or .gz, or a folder that `serve --capture` has written')
    .argument('<out>', 'the file to write, compressed if it ends in .zst or .gz')
    .addOption(
      new Option('--to <format>', 'the format to write')
        .choices(writable.map(({ name }) => name))
        .default('pointsman'),
    )
    .option('--json', 'print one JSON document', false)
    .addHelpText('after', ({ command }) => `\nFormats:\n${formatLines(command)}`)
    .action((from: string, to: string, flags: ConvertFlags) => {
      refuseOverwriting(to, [from, ...flags.merge]);
      const trace = loadShowingProgress(from, loadOptionsOf(flags));
      const format = formatNamed(flags.to);
      writeTrace(to, trace, format);
      const summary = { ...readingOf(trace), lost: lostIn(trace, format) };
      const output = isStandardOutput(to) ? process.stderr : process.stdout;
      output.write(flags.json ? `${JSON.stringify(summary)}\n` : textOf(to, summary));
    });
  return new Command('trace')
    .description('describe traces and captures, and convert them to other formats')
    .addCommand(addTraceOptions(describeCommand()))
    .addCommand(addTraceOptions(convert));
}

interface DescribeFlags extends TraceFlags {
  readonly json: boolean;
}

function describeCommand(): Command {
  return new Command('describe')
    .description(
      'say what is in a trace or a capture: rates, lengths, shared prefixes, sessions, models, outcomes',
    )
    .argument('<in>', 'a trace, plain, .zst or .gz, or a folder that `serve --capture` has written')
    .option('--json', 'print one JSON document', false)
    .action((from: string, flags: DescribeFlags) => {
      const description = describeTrace(loadShowingProgress(from, loadOptionsOf(flags)));
      process.stdout.write(
        flags.json ? `${JSON.stringify(description)}\n` : printable(descriptionText(description)),
      );
    });
}

/** A list as that of the options, as wide as the help. */
function formatLines(command: Command): string {
  const help = command.createHelp();
  help.prepareContext({ helpWidth: process.stdout.columns || HELP_COLUMNS });
  const width = Math.max(...TRACE_FORMATS.map(({ name }) => name.length));
  return TRACE_FORMATS.map((format) =>
    help.formatItem(format.name, width, aboutFormat(format), help),
  ).join('\n');
}

function aboutFormat({ about, carries, write }: TraceFormat): string {
  const fields = carries.map((each) => `, ${FIELDS[each].name}`).join('');
  const only = write === undefined ? ' (read only)' : '';
  return `${about}${only}: times, sizes${fields}`;
}

const FIELDS: Readonly<
  Record<OptionalField, { name: string; isIn: (request: TraceRequest) => boolean }>
> = {
  blockIds: { name: 'shared prefixes', isIn: ({ blockIds }) => blockIds.length > 0 },
  model: { name: 'models', isIn: ({ model }) => model !== '' },
  session: { name: 'sessions', isIn: ({ session }) => session !== undefined },
  thinkMs: { name: 'pauses before turns', isIn: ({ thinkMs }) => thinkMs !== undefined },
  priority: { name: 'priorities', isIn: ({ priority }) => priority !== undefined },
  fairnessId: { name: 'fairness ids', isIn: ({ fairnessId }) => fairnessId !== undefined },
  seen: { name: 'what became of requests', isIn: ({ seen }) => seen !== undefined },
};

function lostIn({ requests }: TraceContent, { carries }: TraceFormat): readonly string[] {
  const lacking = (Object.keys(FIELDS) as readonly OptionalField[]).filter(
    (field) => !carries.includes(field),
  );
  const lost = new Set<OptionalField>();
  for (const request of requests) {
    for (const field of lacking) if (FIELDS[field].isIn(request)) lost.add(field);
  }
  return lacking.filter((field) => lost.has(field)).map((field) => FIELDS[field].name);
}

function textOf(path: string, { lost, ...reading }: ConvertSummary): string {
  const lines = [
    `wrote ${path}`,
    ...describeReading(reading),
    ...(lost.length > 0 ? [`the format has no place for: ${lost.join(', ')}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}
