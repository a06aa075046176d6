import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { refuseOverwriting } from '../files/writing/refuse-overwriting.ts';
import { writeWhole } from '../files/writing/write-whole.ts';
import { ConfigError } from '../framework/error.ts';
import { type Api, SERVED_BY_HEADER } from '../lab/replay/completion-target.ts';
import { describeReplay } from '../lab/replay/describe-replay.ts';
import { type Replayed, replayTo } from '../lab/replay/replay-to.ts';
import type { ReportInput } from '../lab/report/report-page.ts';
import { compare } from '../lab/run-summary/compare.ts';
import { curvesOf } from '../lab/run-summary/curves.ts';
import { binLength, hitLadder } from '../lab/run-summary/hit-ladder.ts';
import { comparisonLegend, renderComparison } from '../lab/run-summary/render-comparison.ts';
import { STUDY_OBJECTIVE } from '../lab/run-summary/service-objective.ts';
import { verdictOf } from '../lab/run-summary/verdict.ts';
import { loadTrace } from '../lab/traces/reading/load-trace.ts';
import { readingOf } from '../lab/traces/trace.ts';
import { inMemory, speedUp } from '../lab/traces/workload.ts';
import { needPackages } from '../runtime/need-packages.ts';
import { above0, atLeastOne, wholeNumber } from './options/option-values.ts';
import { addTraceOptions, loadOptionsOf, type TraceFlags } from './options/trace-options.ts';
import { startProgress } from './output/progress.ts';
import { replayFacts } from './output/report-facts.ts';
import { writeReading } from './output/write-reading.ts';

interface ReplayFlags extends TraceFlags {
  /** At least one. */
  readonly target: readonly URL[];
  readonly trace: string;
  readonly name: readonly string[];
  readonly speed: number;
  readonly model?: string;
  readonly api: Api;
  readonly header: Readonly<Record<string, string>>;
  readonly servedBy: string;
  readonly templateTokens: number;
  readonly stubLengths: boolean;
  readonly salt?: string;
  readonly concurrency: number;
  /** In seconds. */
  readonly timeout: number;
  readonly closedLoop: boolean;
  readonly report?: string;
  readonly json: boolean;
}

const STOPPED_EXIT_CODE = 130;
const PROGRESS_FORMAT =
  '{value}/{total} requests, {underWay} under way, {failed} failed, {duration_formatted}';

export function replayCommand(): Command {
  const command = new Command('replay')
    .description('send a trace to a live gateway in real time')
    .requiredOption('--target <url>', 'an OpenAI-compatible server; may be repeated', webAddress)
    .requiredOption('--trace <file>', 'a trace in any format, as for `pointsman simulate`')
    .option('--name <name>', 'name of a target in the results, in the same order', names, [])
    .option('--speed <times>', 'how many times faster than in the trace to send', above0, 1)
    .option('--model <name>', 'ask for this model instead of those in the trace')
    .addOption(
      new Option('--api <name>', 'the API to use')
        .choices(['completions', 'chat'])
        .default('completions'),
    )
    .option('--header <line>', '`name: value` to send, too; may be repeated', header, {})
    .option('--served-by <header>', 'the response header that names the server', SERVED_BY_HEADER)
    .option('--template-tokens <n>', 'tokens that the target adds to a prompt', wholeNumber, 0)
    .option('--stub-lengths', 'hide the lengths of answers from a picker before stubs', false)
    .option('--salt <text>', 'the same salt makes the same prompts; random if not given')
    .option('--concurrency <n>', 'do not send requests beyond so many at once', atLeastOne, 4096)
    .option('--timeout <s>', 'cancel an answer this long after its request was due', above0, 600)
    .option('--closed-loop', 'turns of a conversation wait for the answer before them', false)
    .option('--report <file>', 'write a self-contained HTML page with charts to this file')
    .option('--json', 'print one JSON document', false);
  return addTraceOptions(command).action(run);
}

async function run(flags: ReplayFlags): Promise<void> {
  const replays = await untilStopped((signal) => replayAll(flags, signal));
  const reports = compare(replays);
  const notes = replays.flatMap((each) => notesOf(each, replays.length));
  const results = replays.map(({ job, summary, figures }) => ({ job, summary, replay: figures }));
  process.stdout.write(
    flags.json
      ? `${JSON.stringify({ reports, results }, undefined, 2)}\n`
      : [
          renderComparison(reports, process.stdout.columns, 'target'),
          comparisonLegend(STUDY_OBJECTIVE),
          `\n${notes.join('\n')}\n`,
        ].join(''),
  );
  // Comes last, so that the figures are not lost if the report cannot be written.
  if (flags.report !== undefined) await writeReport(flags, replays, { reports, notes });
  // The exit code: without it a script would go on after a target that answered nothing.
  if (replays.some(({ summary }) => summary.requests > 0 && summary.failed === summary.requests))
    process.exitCode = 1;
  if (replays.some(({ figures }) => figures.stopped)) process.exitCode = STOPPED_EXIT_CODE;
}

/** Replays to one target after another, so that they do not disturb each other. */
async function replayAll(flags: ReplayFlags, signal: AbortSignal): Promise<readonly Replayed[]> {
  checkFiles(flags);
  const { closedLoop, speed } = flags;
  const trace = loadTrace(flags.trace, { ...loadOptionsOf(flags), sessions: closedLoop });
  const { blockTokens, requests } = trace;
  writeReading(readingOf(trace));
  const workload = inMemory(speedUp({ blockTokens, requests, closedLoop }, speed));
  const salt = flags.salt ?? String(randomInt(2 ** 31));
  const replays: Replayed[] = [];
  for (const [index, url] of flags.target.entries()) {
    const payload = { underWay: 0, failed: 0 };
    const progress = startProgress({ total: requests.length, format: PROGRESS_FORMAT, payload });
    const replayed = await replayTo({
      ...requestOptions(flags),
      url,
      name: flags.name[index] ?? nameOf(url, replays),
      workload,
      speed,
      // Targets may share servers, which must not find the prompts of the target before.
      salt: index === 0 ? salt : `${salt} ${index}`,
      signal,
      onProgress: ({ due, ...rest }) => progress.update(due, rest),
    }).finally(() => progress.stop());
    replays.push(replayed);
    if (replayed.figures.stopped) break;
  }
  return replays;
}

/** How the requests to each target are made. */
function requestOptions(flags: ReplayFlags) {
  return {
    api: flags.api,
    model: flags.model,
    headers: flags.header,
    servedByHeader: flags.servedBy.toLowerCase(),
    templateTokens: flags.templateTokens,
    stubLengths: flags.stubLengths,
    concurrencyMax: flags.concurrency,
    timeoutMs: 1000 * flags.timeout,
  };
}

/** Throws ConfigError where there is no trace, or the report cannot be written. */
function checkFiles({ trace, merge, report }: ReplayFlags): void {
  if (!existsSync(trace)) {
    throw new ConfigError('replay', [{ path: '--trace', message: `${trace} does not exist` }]);
  }
  if (report === undefined) return;
  needPackages('--report', ['echarts']);
  refuseOverwriting(report, [trace, ...merge], 'report.html');
}

/** Aborts the signal at the first SIGINT or SIGTERM. A second SIGINT ends the process at once. */
async function untilStopped<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const stop = (): void => {
    process.stderr.write('stopping; the figures so far are reported\n');
    process.once('SIGINT', () => process.exit(STOPPED_EXIT_CODE));
    stopping.abort();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  try {
    return await run(stopping.signal);
  } finally {
    process.removeListener('SIGINT', stop);
    process.removeListener('SIGTERM', stop);
  }
}

/** Rows with the same name would count as several draws of one target. */
function nameOf({ host }: URL, before: readonly Replayed[]): string {
  return before.some(({ job }) => job.name === host) ? `${host} #${before.length + 1}` : host;
}

function notesOf({ job, figures }: Replayed, targets: number): readonly string[] {
  const notes = describeReplay(figures);
  return targets === 1 ? notes : notes.map((note) => `${job.name}: ${note}`);
}

async function writeReport(
  flags: ReplayFlags,
  replays: readonly Replayed[],
  shown: Pick<ReportInput, 'reports' | 'notes'>,
): Promise<void> {
  const { report: file = '', trace, speed } = flags;
  // Imported on demand, because the chart library is large.
  const { reportPage } = await import('../lab/report/report-page.ts');
  const [first] = replays;
  if (first === undefined) return;
  const targets = replays.map(({ job }) => job.name).join(', ');
  const faster = speed === 1 ? '' : `, ${speed} times as fast`;
  const lastMs = first.requests.at(-1)?.request.atMs ?? 0;
  const page = reportPage({
    title: `${basename(trace)} sent to ${targets}${faster}`,
    ...shown,
    verdict: verdictOf(replays, 'target'),
    rowKind: 'target',
    facts: replayFacts(flags, replays),
    drawn: replays.map(({ job, requests, figures }) => ({
      name: job.name,
      curves: curvesOf({ requests }, figures),
    })),
    // The memory of the target's servers is unknown.
    ladder: hitLadder(first.workload, undefined, binLength(lastMs)),
  });
  writeWhole(file, [page]);
  process.stderr.write(`wrote ${file}\n`);
}

function webAddress(text: string, before: readonly URL[] = []): readonly URL[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return [...before, url];
  throw new InvalidArgumentError(
    `${text} is not an http or https address, such as http://127.0.0.1:8081.`,
  );
}

function header(text: string, before: ReplayFlags['header']): ReplayFlags['header'] {
  const colon = text.indexOf(':');
  const name = text.slice(0, colon).trim().toLowerCase();
  const value = text.slice(colon + 1).trim();
  // The message does not repeat the text, which may contain a key.
  if (colon < 0 || !/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t\x20-\x7e]/.test(value)) {
    throw new InvalidArgumentError('give a header as `name: value`, in ASCII.');
  }
  return { ...before, [name]: value };
}

function names(text: string, before: readonly string[]): readonly string[] {
  if (!before.includes(text)) return [...before, text];
  throw new InvalidArgumentError(`${text} is the name of two targets.`);
}
