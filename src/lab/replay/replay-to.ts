import { ConfigError, messageOf } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import { preciseClock } from '../../runtime/clock/precise-clock.ts';
import { type SimulationSummary, summarize } from '../run-summary/summarize.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { Workload } from '../traces/workload.ts';
import type { CompletionTarget, TargetOptions } from './completion-target.ts';
import { createCompletionTarget } from './completion-target.ts';
import { madeUpPrompt } from './made-up-prompt.ts';
import { OpenLoop, type OpenLoopOptions, type OpenLoopResult } from './open-loop.ts';
import { type ReplaySummary, summarizeReplay } from './summarize-replay.ts';

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

interface ReplayToOptions
  extends TargetOptions,
    Pick<SendOptions, 'salt' | 'concurrencyMax' | 'timeoutMs'>,
    Required<Pick<SendOptions, 'templateTokens' | 'onProgress'>> {
  /** What the target is listed under. */
  readonly name: string;
  /** The model to ask for instead of those in the trace. */
  readonly model: string | undefined;
  /** Sped up already, by `speed`. */
  readonly workload: Workload;
  readonly speed: number;
  /** Ends the replay early, with the figures so far, when it aborts. */
  readonly signal: AbortSignal;
}

/** Sends a workload. Throws ConfigError if neither options, trace nor target name a model. */
export async function replayTo(options: ReplayToOptions): Promise<Replayed> {
  const { url, name, workload, speed, salt } = options;
  const target = createCompletionTarget(options);
  try {
    const model = options.model ?? (await modelFor(workload, target, url));
    const modelOf = (request: TraceRequest): string => options.model ?? (request.model || model);
    const run = await sendWorkload(workload, { ...options, target, modelOf });
    const summary = summarizeReplay(run, workload.requests.length);
    return {
      ...summary,
      job: { name, target: url.origin + url.pathname, seed: 1, speed, salt },
      workload,
      // A live target does not report preemptions.
      summary: summarize({ ...summary, durationMs: run.durationMs, preemptions: Number.NaN }),
    };
  } finally {
    await target.close();
  }
}

/** The first model that the target lists, if the trace has requests without a model. */
async function modelFor(
  { requests }: Workload,
  target: CompletionTarget,
  url: URL,
): Promise<string> {
  if (requests.every(({ model }) => model !== '')) return '';
  try {
    return await target.firstModel();
  } catch (error) {
    const why = messageOf(error);
    const message = `${url.host} gives no list of its models (${why}); check that it serves there, or name a model with --model`;
    throw new ConfigError('replay', [{ path: '--target', message }]);
  }
}

interface SendOptions extends Omit<OpenLoopOptions, 'clock' | 'workload' | 'prepare' | 'send'> {
  readonly target: CompletionTarget;
  readonly modelOf: (request: TraceRequest) => string;
  readonly salt: string;
  /** 0 unless given. */
  readonly templateTokens?: number;
  /** Number of the first request among those with the same salt; 0 unless given. */
  readonly firstIndex?: number;
  /** Ends the run early when it aborts. */
  readonly signal: AbortSignal;
}

/** Sends a workload in real time, with prompts made from its block ids. Never rejects. */
export async function sendWorkload(
  workload: Workload,
  { target, modelOf, salt, templateTokens = 0, firstIndex = 0, signal, ...rest }: SendOptions,
): Promise<OpenLoopResult> {
  const { blockTokens, closedLoop } = workload;
  const loop = new OpenLoop({
    ...rest,
    clock: replayClock(),
    workload,
    prepare: (request, index) => ({
      model: modelOf(request),
      prompt: madeUpPrompt(request, {
        blockTokens,
        salt,
        index: firstIndex + index,
        templateTokens,
      }),
      outputTokens: request.outputTokens,
      session: closedLoop === true ? request.session : undefined,
    }),
    send: target.send,
  });
  // Between two requests nothing else may keep the process alive.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  const stop = (): void => loop.stop();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    return await loop.result;
  } finally {
    clearInterval(keepAlive);
    signal.removeEventListener('abort', stop);
  }
}

/**
 * A precise clock whose timers without delay wait for the next turn of the event loop only, so that
 * a thousand requests can be due at the same moment.
 */
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
