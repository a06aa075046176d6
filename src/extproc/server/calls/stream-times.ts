import type { Clock, Millis } from '../../../framework/runtime.ts';
import type { CloseReason } from '../../codec/stream-event.ts';

/** Gets what the streams of a server took, in seconds. */
export interface StreamTimes {
  /** From the beginning of a stream to its first answer: the pick or the refusal. */
  requestProcessed(seconds: number): void;
  /** What the server itself took for all messages of the response. */
  responseProcessed(seconds: number): void;
  closed(seconds: number, reason: CloseReason): void;
}

/** The first so many pieces of a response are timed; later, one of so many stands for the rest. */
const ALL_TIMED = 8;
const STANDS_FOR = 16;

/** Takes the times of one stream. A long response costs a reading of the clock for some pieces. */
export class StreamWatch {
  readonly #times: StreamTimes;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #openedAt: Millis;
  #answered = false;
  /** Undefined until the response begins. */
  #responseMs: Millis | undefined;
  #pieces = 0;
  /** The pieces for which the present one stands; 0 for one that is not timed. */
  #weight = 0;
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
    this.#weight = 1;
    this.#pieceAt = this.#clock.now();
  }

  pieceBegins(): void {
    if (this.#responseMs === undefined) return;
    const piece = this.#pieces++;
    this.#weight = piece < ALL_TIMED ? 1 : piece % STANDS_FOR === 0 ? STANDS_FOR : 0;
    if (this.#weight > 0) this.#pieceAt = this.#clock.now();
  }

  pieceEnds(): void {
    if (this.#responseMs === undefined || this.#weight === 0) return;
    this.#responseMs += this.#weight * (this.#clock.now() - this.#pieceAt);
  }

  closed(reason: CloseReason): void {
    if (this.#responseMs !== undefined) this.#times.responseProcessed(this.#responseMs / 1000);
    this.#times.closed((this.#clock.now() - this.#openedAt) / 1000, reason);
  }
}
