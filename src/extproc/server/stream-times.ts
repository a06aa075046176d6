import type { Clock, Millis } from '../../framework/runtime.ts';
import type { CloseReason } from '../codec/stream-event.ts';

/** Gets what the streams of a server took, in seconds. */
export interface StreamTimes {
  /** From the beginning of a stream to its first answer: the pick or the refusal. */
  requestProcessed(seconds: number): void;
  /** What the server itself took for all messages of the response. */
  responseProcessed(seconds: number): void;
  closed(seconds: number, reason: CloseReason): void;
}

/** Takes the times of one stream: a few readings of the clock, one pair for each piece. */
export class StreamWatch {
  readonly #times: StreamTimes;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #openedAt: Millis;
  #answered = false;
  /** Undefined until the response begins. */
  #responseMs: Millis | undefined;
  #pieceAt: Millis = 0;

  constructor(times: StreamTimes, clock: Pick<Clock, 'now'>, openedAt: Millis) {
    this.#times = times;
    this.#clock = clock;
    this.#openedAt = openedAt;
  }

  /** Call it for each answer. */
  answering(): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#times.requestProcessed((this.#clock.now() - this.#openedAt) / 1000);
  }

  responseBegins(): void {
    this.#responseMs = 0;
    this.#pieceAt = this.#clock.now();
  }

  pieceBegins(): void {
    if (this.#responseMs !== undefined) this.#pieceAt = this.#clock.now();
  }

  pieceEnds(): void {
    if (this.#responseMs !== undefined) this.#responseMs += this.#clock.now() - this.#pieceAt;
  }

  closed(reason: CloseReason): void {
    if (this.#responseMs !== undefined) this.#times.responseProcessed(this.#responseMs / 1000);
    this.#times.closed((this.#clock.now() - this.#openedAt) / 1000, reason);
  }
}
