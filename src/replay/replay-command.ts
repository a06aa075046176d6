import { randomInt } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { Command } from 'commander';
import { ConfigError } from '../framework/error.ts';
import { preciseClock } from '../runtime/precise-clock.ts';
import { type ConfigReport, compare } from '../simulate/compare.ts';
import { curvesOf, hitCeilings } from '../simulate/curves.ts';
import { renderComparison } from '../simulate/render-comparison.ts';
import { type SimulationSummary, summarize } from '../simulate/summarize.ts';
import { speedUp, type Workload } from '../simulate/workload.ts';
import { readTrace } from '../traces/read-trace.ts';
import { type CompletionTarget, createCompletionTarget } from './completion-target.ts';
import { describeReplay } from './describe-replay.ts';
import { OpenLoop } from './open-loop.ts';
import type { OpenLoopResult } from './open-loop-options.ts';
import { previousTurns } from './previous-turns.ts';
import { promptText } from './prompt-text.ts';
import {
  atLeastOne,
  count,
  header,
  oneOfApis,
  positive,
  type ReplayFlags,
  webAddress,
} from './replay-flags.ts';
import { createProgress } from './replay-progress.ts';
import { type ReplaySummary, summarizeReplay } from './summarize-replay.ts';

const STOPPED_EXIT_CODE = 130;

/** `pointsman replay`. */
export function replayCommand(): Command {
  return new Command('replay')
    .description('send a trace to a live gateway in real time, whatever becomes of the answers')
    .requiredOption('--target <url>', 'an OpenAI-compatible gateway or server', webAddress)
    .requiredOption('--trace <file>', 'a trace as simulate takes it; plain or zstd')
    .option('--name <name>', 'what the result is listed under; the target unless said')
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
    .option('--sessions', 'a turn of a conversation waits for the answer before it', false)
    .option('--lenient', 'leave out bad lines of the trace and count them', false)
    .option('--report <file>', 'write a page with pictures there, which needs nothing else')
    .option('--json', 'print one JSON document', false)
    .action(async (flags: ReplayFlags) => {
      const replayed = await replay(flags);
      process.stdout.write(
        flags.json
          ? `${JSON.stringify(asDocument(replayed), undefined, 2)}\n`
          : `${renderComparison(replayed.reports)}\n${replayed.notes.join('\n')}\n`,
      );
      // Last: what cannot be written must not take the figures with it.
      if (flags.report !== undefined) await writeReport(flags.report, flags, replayed);
      process.exitCode = replayed.figures.stopped ? STOPPED_EXIT_CODE : 0;
    });
}

interface Replayed extends ReplaySummary {
  readonly job: {
    readonly name: string;
    readonly target: string;
    readonly seed: number;
    readonly speed: number;
    readonly salt: string;
  };
  readonly workload: Workload;
  readonly summary: SimulationSummary;
  readonly reports: readonly ConfigReport[];
  readonly notes: readonly string[];
}

async function replay(flags: ReplayFlags): Promise<Replayed> {
  if (!existsSync(flags.trace)) {
    const message = `${flags.trace} is not there`;
    throw new ConfigError('replay', [{ path: '--trace', message }]);
  }
  const trace = readTrace(flags.trace, flags);
  const { blockTokens, requests } = trace;
  const slice = { blockTokens, requests: requests.slice(0, flags.requests) };
  const workload = speedUp(slice, flags.speed);
  const salt = flags.salt ?? String(randomInt(2 ** 31));
  const { target: url, api, header: headers, servedBy } = flags;
  const servedByHeader = servedBy.toLowerCase();
  const target = createCompletionTarget({ url, api, headers, servedByHeader });
  try {
    const model = flags.model ?? (await modelFor(workload, { target, url }));
    const run = await send(workload, { flags, target, model, salt });
    const told = summarizeReplay(run, workload.requests.length);
    // A live target does not say how often it took memory back.
    const summary = summarize({ ...told, durationMs: run.durationMs, preemptions: Number.NaN });
    const name = flags.name ?? url.host;
    const job = { name, target: url.origin + url.pathname, seed: 1, speed: flags.speed, salt };
    const reports = compare([{ job, summary }]);
    const notes = [...describeReplay(told.figures), ...trace.notes];
    if (trace.repaired > 0) notes.push(`${trace.repaired} records of the trace left out or mended`);
    return { ...told, job, workload, summary, reports, notes };
  } finally {
    await target.close();
  }
}

/** Where the trace names no model, the first that the target lists. */
async function modelFor(
  { requests }: Workload,
  { target, url }: { readonly target: CompletionTarget; readonly url: URL },
): Promise<string> {
  if (requests.every(({ model }) => model !== '')) return '';
  try {
    return await target.firstModel();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `${url.host} does not list its models (${why}); name one with --model`;
    throw new ConfigError('replay', [{ path: '--target', message }]);
  }
}

async function send(
  { requests, blockTokens }: Workload,
  {
    flags,
    target,
    model,
    salt,
  }: {
    readonly flags: ReplayFlags;
    readonly target: CompletionTarget;
    readonly model: string;
    readonly salt: string;
  },
): Promise<OpenLoopResult> {
  const { concurrency, timeout, templateTokens, sessions } = flags;
  const progress = createProgress(requests.length);
  const loop = new OpenLoop({
    clock: preciseClock(),
    requests,
    prepare: (request, index) => ({
      model: flags.model ?? (request.model || model),
      prompt: promptText(request, { blockTokens, salt, index, templateTokens }),
      outputTokens: request.outputTokens,
      session: sessions ? request.session : undefined,
    }),
    send: target.send,
    concurrencyMax: concurrency,
    timeoutMs: 1000 * timeout,
    ...(sessions && { previous: previousTurns({ requests, blockTokens }) }),
    onProgress: progress.update,
  });
  // Between two requests there may be nothing else that keeps the process.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  const stop = (): void => {
    process.stderr.write('stopping; what came so far is reported\n');
    process.once('SIGINT', () => process.exit(STOPPED_EXIT_CODE));
    loop.stop();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  try {
    return await loop.result;
  } finally {
    clearInterval(keepAlive);
    process.removeListener('SIGINT', stop);
    process.removeListener('SIGTERM', stop);
    progress.stop();
  }
}

function asDocument({ job, summary, figures, reports }: Replayed): object {
  return { reports, results: [{ job, summary, replay: figures }] };
}

/** Loaded when it is asked for: plots are a large library. */
async function writeReport(
  file: string,
  flags: ReplayFlags,
  { requests, figures, workload, reports, notes, job }: Replayed,
): Promise<void> {
  const { reportPage } = await import('../report/report-page.ts');
  const curves = curvesOf({ requests }, figures);
  const { unlimited } = hitCeilings(workload, { servers: [], faults: [] });
  const fast = flags.speed === 1 ? '' : `, ${flags.speed} times as fast`;
  const page = reportPage({
    title: `${basename(flags.trace)} sent to ${job.name}${fast}`,
    reports,
    drawn: [{ name: job.name, curves }],
    // How much memory the target has is not ours to know.
    ceilings: { unlimited, oneCache: Number.NaN },
    notes,
  });
  writeFileSync(file, page);
  process.stderr.write(`wrote ${file}\n`);
}
