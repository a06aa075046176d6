import type { Clock, Millis } from '../../framework/runtime.ts';
import { Arrivals } from '../traces/arrivals.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { Workload } from '../traces/workload.ts';
import type { AnswerEnd, AnswerExchange, AnswerHooks } from './answer-exchange.ts';
import type { PreparedRequest, SendRequest } from './completion-target.ts';
import { TimeHistogram } from './time-histogram.ts';

export interface OpenLoopOptions {
  readonly clock: Clock;
  /** In a closed-loop workload the turns of one conversation wait for each other. */
  readonly workload: Workload;
  /** `index` counts requests in the order in which they are sent, from 0. */
  readonly prepare: (request: TraceRequest, index: number) => PreparedRequest;
  readonly send: SendRequest;
  /** Answers under way at once. A request that is due beyond that is counted and not sent. */
  readonly concurrencyMax: number;
  /** An answer that takes longer than this, from when its request was due, is cancelled. */
  readonly timeoutMs: Millis;
  /** Cancels the answers under way, as `stopped`, once all requests have had their first token. */
  readonly cutAfterFirstTokens?: boolean;
  readonly onProgress?: (progress: OpenLoopProgress) => void;
}

export interface OpenLoopProgress {
  readonly due: number;
  readonly underWay: number;
  readonly failed: number;
}

/** What became of one request. Times count from when it was due, even if it was sent late. */
export interface SentRequest {
  /** The `atMs` of a turn that waited for an answer is when it became due. */
  readonly request: TraceRequest;
  /** From when it was due to when it was sent. */
  readonly lateMs: Millis;
  /** NaN if no token came. */
  ttftMs: Millis;
  /** NaN if it was not sent. */
  e2eMs: Millis;
  /** `refused` means not sent, because too many were under way. */
  end: AnswerEnd | 'refused' | 'under way';
}

export interface OpenLoopResult {
  /** The requests that were due, in the order in which they became due. */
  readonly sent: readonly SentRequest[];
  readonly underWayMax: number;
  /** Times between the tokens of an answer. */
  readonly tokenGaps: TimeHistogram;
  readonly durationMs: Millis;
  /** The time until the last request was due, and the tokens that came in it. */
  readonly arrivals: { readonly durationMs: Millis; readonly tokens: number };
  /** Whether `stop` ended the run early. */
  readonly stopped: boolean;
}

/** Sends each request when it is due, whether or not those before it have been answered. */
export class OpenLoop {
  readonly #options: OpenLoopOptions;
  /** Counts from 0, as the workload's times do. */
  readonly #clock: Clock;
  readonly #arrivals: Arrivals;
  readonly #sent: SentRequest[] = [];
  readonly #gaps = new TimeHistogram();
  readonly #underWay = new Map<SentRequest, Pick<AnswerExchange, 'cancel'>>();
  readonly #over = Promise.withResolvers<OpenLoopResult>();
  #underWayMax = 0;
  /** Requests under way without a first token. */
  #withoutToken = 0;
  #tokens = 0;
  #failed = 0;
  #stopped = false;
  #arrived = { durationMs: 0, tokens: 0 };

  constructor(options: OpenLoopOptions) {
    const { clock, workload } = options;
    const startedAt = clock.now();
    this.#options = options;
    this.#clock = {
      now: () => clock.now() - startedAt,
      wallTime: () => clock.wallTime(),
      setTimer: (delay, callback) => clock.setTimer(delay, callback),
    };
    this.#arrivals = new Arrivals(workload, {
      clock: this.#clock,
      arrive: (request) => this.#arrive(request),
    });
    this.#arrivals.start();
  }

  /** Resolves when all answers have ended or `stop` was called. Never rejects. */
  get result(): Promise<OpenLoopResult> {
    return this.#over.promise;
  }

  /** Sends no more requests and cancels the answers under way. */
  stop(): void {
    this.#stopped = true;
    this.#cutAll('stopped by hand');
    this.#finish();
  }

  #arrive(request: TraceRequest): void {
    if (this.#stopped) return;
    const { prepare, send, concurrencyMax } = this.#options;
    const refused = this.#underWay.size >= concurrencyMax;
    const prepared = prepare(request, this.#sent.length);
    const now = this.#clock.now();
    const sent: SentRequest = {
      request,
      lateMs: now - request.atMs,
      ttftMs: Number.NaN,
      e2eMs: Number.NaN,
      end: refused ? 'refused' : 'under way',
    };
    this.#sent.push(sent);
    this.#arrived = { durationMs: now, tokens: this.#tokens };
    if (refused) {
      this.#ended(sent);
      return;
    }
    this.#withoutToken += 1;
    const exchange = send(prepared, this.#hooksOf(sent));
    // The answer may have ended already.
    if (sent.end === 'under way') this.#underWay.set(sent, exchange);
    this.#underWayMax = Math.max(this.#underWayMax, this.#underWay.size);
    this.#report();
  }

  #hooksOf(sent: SentRequest): AnswerHooks {
    const { timeoutMs } = this.#options;
    const sinceDue = (): Millis => this.#clock.now() - sent.request.atMs;
    const deadline = this.#clock.setTimer(timeoutMs - sinceDue(), () =>
      this.#underWay.get(sent)?.cancel('time-out', `no end within ${timeoutMs} ms`),
    );
    let lastMs = Number.NaN;
    return {
      onTokens: (count) => {
        const now = sinceDue();
        const isFirst = Number.isNaN(lastMs);
        if (isFirst) sent.ttftMs = now;
        else this.#gaps.add(now - lastMs);
        lastMs = now;
        this.#tokens += count;
        if (isFirst) this.#begun();
      },
      onEnd: (end) => {
        deadline.cancel();
        sent.e2eMs = sinceDue();
        sent.end = end;
        this.#underWay.delete(sent);
        if (Number.isNaN(lastMs)) this.#begun();
        this.#ended(sent);
      },
    };
  }

  /** An answer has its first token, or has ended without one. */
  #begun(): void {
    this.#withoutToken -= 1;
    if (this.#options.cutAfterFirstTokens !== true) return;
    if (this.#withoutToken === 0 && this.#arrivals.left === 0) this.#cutAll('all have begun');
  }

  #cutAll(message: string): void {
    for (const exchange of this.#underWay.values()) exchange.cancel('stopped', message);
  }

  #ended({ request, end }: SentRequest): void {
    const isFailure =
      typeof end === 'string' || (end.lost !== undefined && end.lost.kind !== 'stopped');
    if (isFailure) this.#failed += 1;
    this.#arrivals.over(request);
    this.#report();
    if (this.#arrivals.left === 0 && this.#underWay.size === 0) this.#finish();
  }

  #report(): void {
    const { onProgress } = this.#options;
    onProgress?.({ due: this.#sent.length, underWay: this.#underWay.size, failed: this.#failed });
  }

  #finish(): void {
    this.#over.resolve({
      sent: this.#sent,
      underWayMax: this.#underWayMax,
      tokenGaps: this.#gaps,
      durationMs: this.#clock.now(),
      arrivals: this.#arrived,
      stopped: this.#stopped,
    });
  }
}
