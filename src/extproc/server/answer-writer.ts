import type { StreamAction } from '../codec/stream-action.ts';

export type Answer = Exclude<StreamAction, { readonly kind: 'half-close' }>;

/**
 * Answers handed to the transport and not yet on their way. Sixteen of the largest are 1 MB, which a connection that
 * is read at all takes at once; what waits behind them are views of the body that is held anyway.
 */
const UNSENT_MAX = 16;

/** What of a gRPC server stream an answer goes through. */
export interface AnswerStream {
  readonly cancelled: boolean;
  /** Reading of requests, held up while the peer does not take our answers. */
  pause(): unknown;
  resume(): unknown;
  end(): unknown;
  readonly call: {
    /** Encodes and frames the answer and calls back once it has left; never when the stream breaks. */
    sendMessage(answer: Answer, onSent: () => void): void;
    readonly stream: { readonly writableCorked: number; cork(): void; uncork(): void };
  };
}

/**
 * Writes a stream's answers, those of one go as one write: `stream.write` would wait for each to leave before it looks
 * at the next, which costs a turn of the loop and a system call for each (100 SSE chunks: 0.46 instead of 0.58 ms of
 * CPU). A peer that takes no answers is not read from either.
 */
export class AnswerWriter {
  readonly #stream: AnswerStream;
  readonly #afterThis: (task: () => void) => void;
  #waiting: Answer[] = [];
  #unsent = 0;
  #paused = false;
  #ending = false;

  /** `afterThis` runs a task when the present piece of work is done: `process.nextTick`. */
  constructor(stream: AnswerStream, afterThis: (task: () => void) => void) {
    this.#stream = stream;
    this.#afterThis = afterThis;
  }

  write(answer: Answer): void {
    if (this.#ending || this.#stream.cancelled) return;
    if (this.#unsent < UNSENT_MAX && this.#waiting.length === 0) this.#send(answer);
    else this.#waiting.push(answer);
    if (this.#unsent >= UNSENT_MAX && !this.#paused) {
      this.#paused = true;
      this.#stream.pause();
    }
  }

  /** Ends our side once everything written has left. */
  end(): void {
    if (this.#ending) return;
    this.#ending = true;
    if (this.#waiting.length === 0) this.#stream.end();
  }

  #send(answer: Answer): void {
    const { call } = this.#stream;
    const { stream } = call;
    if (stream.writableCorked === 0) {
      stream.cork();
      this.#afterThis(() => stream.uncork());
    }
    this.#unsent += 1;
    call.sendMessage(answer, () => this.#onSent());
  }

  #onSent(): void {
    this.#unsent -= 1;
    if (this.#stream.cancelled) {
      this.#waiting = [];
      return;
    }
    // All that left together is replaced together.
    if (this.#unsent > 0) return;
    const next = this.#waiting.splice(0, UNSENT_MAX);
    for (const answer of next) this.#send(answer);
    if (this.#ending && next.length > 0 && this.#waiting.length === 0) this.#stream.end();
    if (this.#paused && this.#unsent === 0) {
      this.#paused = false;
      this.#stream.resume();
    }
  }
}
