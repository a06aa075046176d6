import type { Clock, Millis, Timer } from '../framework/runtime.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { AnswerExchange } from './answer-exchange.ts';
import type { PreparedRequest, SendRequest, Sent } from './sent-request.ts';
import { TimeHistogram } from './time-histogram.ts';

/** Sent in one go, a few milliseconds' work. */
const BURST_MAX = 64;

export interface OpenLoopOptions {
  readonly clock: Clock;
  /** By time, from 0. */
  readonly requests: readonly TraceRequest[];
  readonly prepare: (request: TraceRequest, index: number) => PreparedRequest;
  readonly send: SendRequest;
  /** Answers under way at once. What is due beyond that is not sent, and counted. */
  readonly concurrencyMax: number;
  /** An answer that takes longer from when it was due is given up. */
  readonly timeoutMs: Millis;
  /** For each request the place of one whose end it waits for, or -1. */
  readonly previous?: Int32Array;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly due: number;
  readonly underWay: number;
  readonly failed: number;
}

export interface OpenLoopResult {
  /** Those that were due, in the order they became so. */
  readonly sent: readonly Sent[];
  readonly underWayMax: number;
  /** Between the arrivals of an answer's tokens. */
  readonly tokenGaps: TimeHistogram;
  readonly durationMs: Millis;
  /** Before all were due. */
  readonly stopped: boolean;
}

/** Sends each request when it is due, whatever has become of those before. */
export class OpenLoop {
  readonly #options: OpenLoopOptions;
  readonly #startedAt: Millis;
  readonly #sent: Sent[] = [];
  readonly #gaps = new TimeHistogram();
  readonly #underWay = new Map<Sent, Pick<AnswerExchange, 'cancel'>>();
  readonly #ended: Uint8Array;
  /** Requests whose time has come but not the end that they wait for, by whose it is. */
  readonly #followers = new Map<number, number[]>();
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
    for (const exchange of this.#underWay.values()) exchange.cancel('stopped', 'stopped by hand');
    this.#finish();
  }

  #arriveNext(): void {
    const { requests, clock, prepare } = this.#options;
    const index = this.#arrived;
    const request = requests[index];
    if (request === undefined) {
      if (this.#underWay.size === 0 && this.#waiting === 0) this.#finish();
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
      this.#arrive(index, prepare(request, index), dueAt);
    }
  }

  #arrive(index: number, prepared: PreparedRequest, dueAt: Millis): void {
    const { previous } = this.#options;
    const before = previous?.[index] ?? -1;
    if (before < 0 || this.#ended[before] === 1) {
      this.#send(index, prepared, dueAt);
      return;
    }
    const others = this.#followers.get(before);
    if (others === undefined) this.#followers.set(before, [index]);
    else others.push(index);
    this.#waiting += 1;
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
    const { clock, prepare, requests } = this.#options;
    this.#ended[index] = 1;
    const followers = this.#followers.get(index) ?? [];
    this.#followers.delete(index);
    for (const follower of followers) {
      this.#waiting -= 1;
      if (this.#stopped) continue;
      // Due now: its client could not have asked before.
      const dueAt = clock.now();
      this.#send(follower, prepare(requests[follower] as TraceRequest, follower), dueAt);
    }
    this.#tell();
    if (this.#arrived === requests.length && this.#underWay.size === 0 && this.#waiting === 0) {
      this.#finish();
    }
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
      durationMs: this.#options.clock.now() - this.#startedAt,
      stopped: this.#stopped,
    });
  }
}
