import type { Millis, Timer } from '../framework/runtime.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { AnswerExchange } from './answer-exchange.ts';
import type { OpenLoopOptions, OpenLoopResult } from './open-loop-options.ts';
import type { PreparedRequest, Sent } from './sent-request.ts';
import { TimeHistogram } from './time-histogram.ts';

/** Sent in one go, a few milliseconds' work. */
const BURST_MAX = 64;

/** Sends each request when it is due, whatever has become of those before. */
export class OpenLoop {
  readonly #options: OpenLoopOptions;
  readonly #startedAt: Millis;
  readonly #sent: Sent[] = [];
  readonly #gaps = new TimeHistogram();
  readonly #underWay = new Map<Sent, Pick<AnswerExchange, 'cancel'>>();
  readonly #ended: Uint8Array;
  /** Requests that wait for an end, by whose it is. */
  readonly #followers = new Map<number, number[]>();
  /** Those whose pause runs. */
  readonly #pauses = new Set<Timer>();
  readonly #over = Promise.withResolvers<OpenLoopResult>();
  #arrival: Timer | undefined;
  #arrived = 0;
  #waiting = 0;
  #underWayMax = 0;
  #failed = 0;
  #stopped = false;

  constructor(options: OpenLoopOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
    this.#ended = new Uint8Array(options.requests.length);
    options.requests.forEach((_, index) => {
      if (this.#isPaused(index)) this.#follow(index);
    });
    this.#arriveNext();
  }

  /** When all are over, or `stop` was called. Never rejects. */
  get result(): Promise<OpenLoopResult> {
    return this.#over.promise;
  }

  /** Sends no more, and cuts what is under way. */
  stop(): void {
    this.#stopped = true;
    this.#arrival?.cancel();
    for (const pause of this.#pauses) pause.cancel();
    for (const exchange of this.#underWay.values()) exchange.cancel('stopped', 'stopped by hand');
    this.#finish();
  }

  /** Whether the end of another and a pause say when it is due, rather than its arrival. */
  #isPaused(index: number): boolean {
    const { previous, requests } = this.#options;
    return (previous?.[index] ?? -1) >= 0 && requests[index]?.thinkMs !== undefined;
  }

  #follow(index: number): void {
    const before = this.#options.previous?.[index] ?? -1;
    const others = this.#followers.get(before);
    if (others === undefined) this.#followers.set(before, [index]);
    else others.push(index);
    this.#waiting += 1;
  }

  #arriveNext(): void {
    const { requests, clock, prepare } = this.#options;
    while (this.#isPaused(this.#arrived)) this.#arrived += 1;
    const index = this.#arrived;
    const request = requests[index];
    if (request === undefined) {
      this.#finishWhenOver();
      return;
    }
    // Before its time, so that its time is not spent on it.
    const prepared = prepare(request, index);
    const dueAt = this.#startedAt + request.atMs;
    this.#arrival = clock.setTimer(dueAt - clock.now(), () => {
      this.#arrived += 1;
      this.#arrive(index, prepared, dueAt);
      this.#catchUp();
      this.#arriveNext();
    });
  }

  /** Those of the same moment, without a timer for each; but answers get their turn, too. */
  #catchUp(): void {
    const { requests, clock, prepare } = this.#options;
    for (let burst = 0; burst < BURST_MAX; burst++) {
      const index = this.#arrived;
      const request = requests[index];
      const dueAt = this.#startedAt + (request?.atMs ?? 0);
      if (request === undefined || dueAt > clock.now()) return;
      this.#arrived += 1;
      if (!this.#isPaused(index)) this.#arrive(index, prepare(request, index), dueAt);
    }
  }

  #arrive(index: number, prepared: PreparedRequest, dueAt: Millis): void {
    const before = this.#options.previous?.[index] ?? -1;
    if (before < 0 || this.#ended[before] === 1) this.#send(index, prepared, dueAt);
    else this.#follow(index);
  }

  #send(index: number, prepared: PreparedRequest, dueAt: Millis): void {
    const { requests, clock, send, concurrencyMax, timeoutMs } = this.#options;
    const request = requests[index] as TraceRequest;
    const now = clock.now();
    const sent: Sent = {
      index,
      request,
      lateMs: now - dueAt,
      ttftMs: Number.NaN,
      e2eMs: Number.NaN,
      end: 'refused',
    };
    this.#sent.push(sent);
    if (this.#underWay.size >= concurrencyMax) {
      this.#failed += 1;
      this.#endOf(index);
      return;
    }
    sent.end = 'under way';
    let lastAt = Number.NaN;
    const deadline = clock.setTimer(dueAt + timeoutMs - now, () =>
      exchange.cancel('time-out', `no end within ${timeoutMs} ms`),
    );
    const exchange = send(prepared, {
      onTokens: () => {
        const at = clock.now();
        if (Number.isNaN(lastAt)) sent.ttftMs = at - dueAt;
        else this.#gaps.add(at - lastAt);
        lastAt = at;
      },
      onEnd: (end) => {
        deadline.cancel();
        sent.e2eMs = clock.now() - dueAt;
        sent.end = end;
        if (end.lost !== undefined) this.#failed += 1;
        this.#underWay.delete(sent);
        this.#endOf(index);
      },
    });
    // It may be over already.
    if (sent.end === 'under way') this.#underWay.set(sent, exchange);
    this.#underWayMax = Math.max(this.#underWayMax, this.#underWay.size);
    this.#tell();
  }

  #endOf(index: number): void {
    this.#ended[index] = 1;
    const followers = this.#followers.get(index) ?? [];
    this.#followers.delete(index);
    if (!this.#stopped) for (const follower of followers) this.#goOn(follower);
    this.#tell();
    this.#finishWhenOver();
  }

  /** Due now or after its pause, but not before: its client could not have asked. */
  #goOn(index: number): void {
    const { clock, prepare, requests } = this.#options;
    const request = requests[index] as TraceRequest;
    const { thinkMs = 0 } = request;
    const dueAt = clock.now() + thinkMs;
    const send = (): void => {
      this.#waiting -= 1;
      this.#send(index, prepare(request, index), dueAt);
    };
    if (thinkMs === 0) {
      send();
      return;
    }
    const pause = clock.setTimer(thinkMs, () => {
      this.#pauses.delete(pause);
      send();
    });
    this.#pauses.add(pause);
  }

  #tell(): void {
    const { onProgress } = this.#options;
    onProgress?.({ due: this.#sent.length, underWay: this.#underWay.size, failed: this.#failed });
  }

  #finishWhenOver(): void {
    const allArrived = this.#arrived >= this.#options.requests.length;
    if (allArrived && this.#underWay.size === 0 && this.#waiting === 0) this.#finish();
  }

  #finish(): void {
    this.#over.resolve({
      sent: this.#sent,
      underWayMax: this.#underWayMax,
      tokenGaps: this.#gaps,
      durationMs: this.#options.clock.now() - this.#startedAt,
      stopped: this.#stopped,
    });
  }
}
