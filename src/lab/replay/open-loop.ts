import type { Clock, Millis } from '../../framework/runtime.ts';
import { Arrivals } from '../traces/arrivals.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { AnswerExchange, AnswerHooks } from './answer-exchange.ts';
import type { OpenLoopOptions, OpenLoopResult } from './open-loop-options.ts';
import type { Sent } from './sent-request.ts';
import { TimeHistogram } from './time-histogram.ts';

/** Sends each request when it is due, whatever has become of those before. */
export class OpenLoop {
  readonly #options: OpenLoopOptions;
  /** From 0, as the workload's times. */
  readonly #clock: Clock;
  readonly #arrivals: Arrivals;
  readonly #sent: Sent[] = [];
  readonly #gaps = new TimeHistogram();
  readonly #underWay = new Map<Sent, Pick<AnswerExchange, 'cancel'>>();
  readonly #over = Promise.withResolvers<OpenLoopResult>();
  #underWayMax = 0;
  #failed = 0;
  #stopped = false;

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

  /** When all are over, or `stop` was called. Never rejects. */
  get result(): Promise<OpenLoopResult> {
    return this.#over.promise;
  }

  /** Sends no more, and cuts what is under way. */
  stop(): void {
    this.#stopped = true;
    for (const exchange of this.#underWay.values()) exchange.cancel('stopped', 'stopped by hand');
    this.#finish();
  }

  #arrive(request: TraceRequest): void {
    if (this.#stopped) return;
    const { prepare, send, concurrencyMax } = this.#options;
    const index = this.#sent.length;
    const refused = this.#underWay.size >= concurrencyMax;
    const prepared = prepare(request, index);
    const sent: Sent = {
      request,
      lateMs: this.#clock.now() - request.atMs,
      ttftMs: Number.NaN,
      e2eMs: Number.NaN,
      end: refused ? 'refused' : 'under way',
    };
    this.#sent.push(sent);
    if (refused) this.#ended(sent);
    else {
      const exchange = send(prepared, this.#hooksOf(sent));
      // It may be over already.
      if (sent.end === 'under way') this.#underWay.set(sent, exchange);
      this.#underWayMax = Math.max(this.#underWayMax, this.#underWay.size);
      this.#tell();
    }
  }

  #hooksOf(sent: Sent): AnswerHooks {
    const { timeoutMs } = this.#options;
    const sinceDue = (): Millis => this.#clock.now() - sent.request.atMs;
    const deadline = this.#clock.setTimer(timeoutMs - sinceDue(), () =>
      this.#underWay.get(sent)?.cancel('time-out', `no end within ${timeoutMs} ms`),
    );
    let lastMs = Number.NaN;
    return {
      onTokens: () => {
        const now = sinceDue();
        if (Number.isNaN(lastMs)) sent.ttftMs = now;
        else this.#gaps.add(now - lastMs);
        lastMs = now;
      },
      onEnd: (end) => {
        deadline.cancel();
        sent.e2eMs = sinceDue();
        sent.end = end;
        this.#underWay.delete(sent);
        this.#ended(sent);
      },
    };
  }

  #ended({ request, end }: Sent): void {
    if (typeof end === 'string' || end.lost !== undefined) this.#failed += 1;
    this.#arrivals.over(request);
    this.#tell();
    if (this.#arrivals.left === 0 && this.#underWay.size === 0) this.#finish();
  }

  #tell(): void {
    const { onProgress } = this.#options;
    onProgress?.({ due: this.#sent.length, underWay: this.#underWay.size, failed: this.#failed });
  }

  #finish(): void {
    this.#over.resolve({
      sent: this.#sent,
      underWayMax: this.#underWayMax,
      tokenGaps: this.#gaps,
      durationMs: this.#clock.now(),
      stopped: this.#stopped,
    });
  }
}
