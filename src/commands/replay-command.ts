import { randomInt } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { Command } from 'commander';
import { refuseOverwriting } from '../files/refuse-overwriting.ts';
import { ConfigError } from '../framework/error.ts';
import { describeReplay } from '../lab/replay/describe-replay.ts';
import {
  atLeastOne,
  count,
  header,
  names,
  oneOfApis,
  positive,
  type ReplayFlags,
  webAddress,
} from '../lab/replay/replay-flags.ts';
import { type Replayed, replayTo, STOPPED_EXIT_CODE } from '../lab/replay/replay-to.ts';
import { binLength } from '../lab/run-summary/bins.ts';
import { type ConfigReport, compare } from '../lab/run-summary/compare.ts';
import { curvesOf } from '../lab/run-summary/curves.ts';
import { hitLadder } from '../lab/run-summary/hit-ladder.ts';
import { renderComparison } from '../lab/run-summary/render-comparison.ts';
import { sentencesOf } from '../lab/run-summary/trace-reading.ts';
import { loadTrace } from '../lab/traces/reading/load-trace.ts';
import { addShapeOptions, shapeOf } from '../lab/traces/shape-options.ts';
import { speedUp } from '../lab/traces/workload.ts';
import { fromOption } from './from-option.ts';

/** `pointsman replay`. */
export function replayCommand(): Command {
  const command = new Command('replay')
    .description('send a trace to a live gateway in real time, whatever becomes of the answers')
    .requiredOption(
      '--target <url>',
      'an OpenAI-compatible gateway or server; several are taken in turn',
      webAddress,
    )
    .requiredOption('--trace <file>', 'a trace as simulate takes it')
    .addOption(fromOption())
    .option('--name <name>', 'what a target is listed under, in the same order', names, [])
    .option('--speed <times>', 'arrivals so many times as fast as in the trace', positive, 1)
    .option('--requests <n>', 'only the first so many of the trace', atLeastOne)
    .option('--model <name>', 'ask for this model, whatever the trace says')
    .option('--api <name>', 'completions or chat', oneOfApis, 'completions')
    .option('--header <line>', '`name: value` to send with each; several times', header, {})
    .option('--served-by <header>', 'the answer’s header that names the server', 'x-inference-pod')
    .option('--template-tokens <n>', 'tokens that the target puts around each prompt', count, 0)
    .option('--salt <text>', 'the same salt gives the same prompts; drawn unless said')
    .option('--concurrency <n>', 'answers under way at most; others are not sent', atLeastOne, 4096)
    .option('--timeout <s>', 'give an answer up so long after it was due', positive, 600)
    .option('--closed-loop', 'a turn of a conversation waits for the answer before it', false)
    .option('--lenient', 'leave out bad lines of the trace and count them', false)
    .option('--report <file>', 'write a page with pictures there, which needs nothing else')
    .option('--json', 'print one JSON document', false);
  return addShapeOptions(command).action(run);
}

async function run(flags: ReplayFlags): Promise<void> {
  const replays = await replayAll(flags);
  const reports = compare(replays);
  const notes = replays.flatMap((each) => notesOf(each, replays.length));
  process.stdout.write(
    flags.json
      ? `${JSON.stringify(asDocument(reports, replays), undefined, 2)}\n`
      : `${renderComparison(reports)}\n${notes.join('\n')}\n`,
  );
  // Last: what cannot be written must not take the figures with it.
  if (flags.report !== undefined) await writeReport(flags, { reports, replays, notes });
  if (replays.some(({ figures }) => figures.stopped)) process.exitCode = STOPPED_EXIT_CODE;
}

/** One after another: beside one another they would be in each other's way. */
async function replayAll(flags: ReplayFlags): Promise<readonly Replayed[]> {
  if (!existsSync(flags.trace)) {
    const message = `${flags.trace} is not there`;
    throw new ConfigError('replay', [{ path: '--trace', message }]);
  }
  const { from, lenient, closedLoop, report } = flags;
  if (report !== undefined) {
    refuseOverwriting(report, [flags.trace, ...flags.merge], 'report.html');
  }
  const shape = shapeOf(flags);
  const trace = loadTrace(flags.trace, { from, lenient, shape, sessions: closedLoop });
  for (const sentence of sentencesOf(trace)) process.stderr.write(`${sentence}\n`);
  const { blockTokens } = trace;
  const requests = trace.requests.slice(0, flags.requests);
  const workload = speedUp({ blockTokens, requests, closedLoop }, flags.speed);
  const salt = flags.salt ?? String(randomInt(2 ** 31));
  const replays: Replayed[] = [];
  for (const [index, url] of flags.target.entries()) {
    // Servers behind several of the targets must not find the texts of the one before.
    const ownSalt = index === 0 ? salt : `${salt} ${index}`;
    const name = flags.name[index] ?? nameOf(url, replays);
    const replayed = await replayTo(url, { name, flags, workload, salt: ownSalt });
    replays.push(replayed);
    if (replayed.figures.stopped) break;
  }
  return replays;
}

/** Rows of one name would be taken for draws of one target. */
function nameOf({ host }: URL, before: readonly Replayed[]): string {
  return before.some(({ job }) => job.name === host) ? `${host} #${before.length + 1}` : host;
}

function notesOf({ job, figures }: Replayed, targets: number): readonly string[] {
  const notes = describeReplay(figures);
  return targets === 1 ? notes : notes.map((note) => `${job.name}: ${note}`);
}

function asDocument(reports: readonly ConfigReport[], replays: readonly Replayed[]): object {
  const results = replays.map(({ job, summary, figures }) => ({ job, summary, replay: figures }));
  return { reports, results };
}

/** Loaded when it is asked for: plots are a large library. */
async function writeReport(
  { report: file = '', trace, speed }: ReplayFlags,
  {
    reports,
    replays,
    notes,
  }: {
    readonly reports: readonly ConfigReport[];
    readonly replays: readonly Replayed[];
    readonly notes: readonly string[];
  },
): Promise<void> {
  const { reportPage } = await import('../lab/report/report-page.ts');
  const [first] = replays;
  if (first === undefined) return;
  const page = reportPage({
    title: `${basename(trace)} sent to ${replays.map(({ job }) => job.name).join(', ')}${speed === 1 ? '' : `, ${speed} times as fast`}`,
    reports,
    drawn: replays.map(({ job, requests, figures }) => ({
      name: job.name,
      curves: curvesOf({ requests }, figures),
    })),
    // How much memory the target has is not ours to know.
    ladder: hitLadder(
      first.workload,
      undefined,
      binLength(first.requests.at(-1)?.request.atMs ?? 0),
    ),
    notes,
  });
  writeFileSync(file, page);
  process.stderr.write(`wrote ${file}\n`);
}
