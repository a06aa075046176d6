import { ConfigError } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import { preciseClock } from '../../runtime/precise-clock.ts';
import { type SimulationSummary, summarize } from '../run-summary/summarize.ts';
import type { Workload } from '../traces/workload.ts';
import { type CompletionTarget, createCompletionTarget } from './completion-target.ts';
import { OpenLoop } from './open-loop.ts';
import type { OpenLoopResult } from './open-loop-options.ts';
import { promptText } from './prompt-text.ts';
import type { ReplayFlags } from './replay-flags.ts';
import { createProgress } from './replay-progress.ts';
import { type ReplaySummary, summarizeReplay } from './summarize-replay.ts';

export const STOPPED_EXIT_CODE = 130;

export interface Replayed extends ReplaySummary {
  readonly job: {
    readonly name: string;
    readonly target: string;
    readonly seed: number;
    readonly speed: number;
    readonly salt: string;
  };
  readonly workload: Workload;
  readonly summary: SimulationSummary;
}

export interface ReplayToOptions {
  readonly name: string;
  readonly flags: ReplayFlags;
  /** Already as fast as it is to be sent. */
  readonly workload: Workload;
  readonly salt: string;
}

/** Sends a workload to one target. SIGINT or SIGTERM ends it with what came so far. Throws ConfigError where no model can be asked for. */
export async function replayTo(
  url: URL,
  { name, flags, workload, salt }: ReplayToOptions,
): Promise<Replayed> {
  const { api, header: headers, servedBy, speed } = flags;
  const servedByHeader = servedBy.toLowerCase();
  const target = createCompletionTarget({ url, api, headers, servedByHeader });
  try {
    const model = flags.model ?? (await modelFor(workload, { target, url }));
    const run = await send(workload, { flags, target, model, salt });
    const told = summarizeReplay(run, workload.requests.length);
    // A live target does not say how often it took memory back.
    const summary = summarize({ ...told, durationMs: run.durationMs, preemptions: Number.NaN });
    const job = { name, target: url.origin + url.pathname, seed: 1, speed, salt };
    return { ...told, job, workload, summary };
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
  workload: Workload,
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
  const { concurrency, timeout, templateTokens } = flags;
  const { blockTokens, closedLoop } = workload;
  const progress = createProgress(workload.requests.length);
  const loop = new OpenLoop({
    clock: replayClock(),
    workload,
    prepare: (request, index) => ({
      model: flags.model ?? (request.model || model),
      prompt: promptText(request, { blockTokens, salt, index, templateTokens }),
      outputTokens: request.outputTokens,
      session: closedLoop === true ? request.session : undefined,
    }),
    send: target.send,
    concurrencyMax: concurrency,
    timeoutMs: 1000 * timeout,
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

/** What is due already waits for no timer but for its turn in the event loop, so that a thousand can come at one moment. */
function replayClock(): Clock {
  const clock = preciseClock();
  return {
    ...clock,
    setTimer: (delay, callback) => {
      if (delay > 0) return clock.setTimer(delay, callback);
      const turn = setImmediate(callback);
      return { cancel: () => clearImmediate(turn) };
    },
  };
}
