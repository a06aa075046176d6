import type { StreamAction } from '../codec/stream-action.ts';
import { type ByteAccount, UNCOUNTED } from '../streams/byte-account.ts';

export type Answer = Exclude<StreamAction, { readonly kind: 'half-close' }>;

/** Answers in the transport: 16 of the largest are 1 MB, which a live connection takes at once. */
const UNSENT_MAX = 16;
/** Objects around an answer that waits. */
const ANSWER_OVERHEAD_BYTES = 512;

/** The part of a gRPC server stream that an answer passes. */
export interface AnswerStream {
  readonly cancelled: boolean;
  /** Stops reading requests while the peer does not take answers. */
  pause(): unknown;
  resume(): unknown;
  end(): unknown;
  readonly call: {
    /** Encodes and frames the answer. Calls back once it has left; never if the stream breaks. */
    sendMessage(answer: Answer, onSent: () => void): void;
    readonly stream: { readonly writableCorked: number; cork(): void; uncork(): void };
  };
}

/**
 * Writes all answers of one turn in one system call; `stream.write` takes a turn and a call for
 * each (100 SSE chunks: 0.58 instead of 0.46 ms of CPU). Stops reading where a peer takes none.
 */
export class AnswerWriter {
  readonly #stream: AnswerStream;
  readonly #afterTurn: (task: () => void) => void;
  readonly #account: ByteAccount;
  #waiting: Answer[] = [];
  #unsent = 0;
  #paused = false;
  #ending = false;

  /** `afterTurn` runs a task after the current turn: `process.nextTick`. */
  constructor(
    stream: AnswerStream,
    afterTurn: (task: () => void) => void,
    account: ByteAccount = UNCOUNTED,
  ) {
    this.#stream = stream;
    this.#afterTurn = afterTurn;
    this.#account = account;
  }

  /** Whether the peer takes no answers, so that one more cannot leave. */
  get blocked(): boolean {
    return this.#unsent >= UNSENT_MAX;
  }

  write(answer: Answer): void {
    if (this.#ending || this.#stream.cancelled) return;
    const bytes = answerBytes(answer);
    this.#account.hold(bytes);
    if (this.#unsent < UNSENT_MAX && this.#waiting.length === 0) this.#send(answer, bytes);
    else this.#waiting.push(answer);
    if (this.#unsent >= UNSENT_MAX && !this.#paused) {
      this.#paused = true;
      this.#stream.pause();
    }
  }

  /** Forgets the answers that wait: the request is refused. */
  abandon(): void {
    for (const answer of this.#waiting.splice(0)) this.#account.release(answerBytes(answer));
  }

  /** Ends the stream once all written answers have left. */
  end(): void {
    if (this.#ending) return;
    this.#ending = true;
    if (this.#waiting.length === 0) this.#stream.end();
  }

  #send(answer: Answer, bytes: number): void {
    const { call } = this.#stream;
    const { stream } = call;
    if (stream.writableCorked === 0) {
      stream.cork();
      this.#afterTurn(() => stream.uncork());
    }
    this.#unsent += 1;
    call.sendMessage(answer, () => this.#onSent(bytes));
  }

  #onSent(bytes: number): void {
    this.#unsent -= 1;
    this.#account.release(bytes);
    if (this.#stream.cancelled) {
      this.abandon();
      return;
    }
    // The next batch is sent when the whole batch before it has left.
    if (this.#unsent > 0) return;
    const next = this.#waiting.splice(0, UNSENT_MAX);
    for (const answer of next) this.#send(answer, answerBytes(answer));
    if (this.#ending && next.length > 0 && this.#waiting.length === 0) this.#stream.end();
    if (this.#paused && this.#unsent === 0) {
      this.#paused = false;
      this.#stream.resume();
    }
  }
}

function answerBytes(answer: Answer): number {
  let bytes = ANSWER_OVERHEAD_BYTES;
  const pieces = 'pieces' in answer ? answer.pieces : 'body' in answer ? answer.body : undefined;
  if (typeof pieces !== 'object') return bytes;
  for (const piece of pieces) bytes += piece.length;
  return bytes;
}
