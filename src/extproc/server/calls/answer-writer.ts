import type { SentMemory, StreamAction } from '../../codec/stream-action.ts';
import { type ByteAccount, UNCOUNTED } from '../../streams/byte-account.ts';

export type Answer = Exclude<StreamAction, { readonly kind: 'half-close' }>;

/** Answers in the transport: 16 of the largest are 1 MB, which a live connection takes at once. */
const UNSENT_MAX = 16;
/** Objects around an answer that waits. */
const ANSWER_OVERHEAD_BYTES = 512;

/** The call that an answer leaves by. */
export interface AnswerStream {
  /** Nothing can be sent any more. */
  readonly cancelled: boolean;
  /** Stops reading requests while the peer does not take answers. */
  pause(): void;
  resume(): void;
  end(): void;
  /** Sends the answers together. Calls back once they have left; never if the stream breaks. */
  send(answers: readonly Answer[], onSent: () => void): void;
  /** Runs a task once the present turn is over. */
  afterTurn(task: () => void): void;
  /** Runs a task once the transport needs nothing of what was sent so far. */
  afterWritten(task: () => void): void;
}

/** Sends all answers of one turn in one write. Stops reading where a peer takes none. */
export class AnswerWriter {
  readonly #stream: AnswerStream;
  readonly #account: ByteAccount;
  readonly #flush = (): void => this.#sendTurn();
  /** What answers are sent from that have not left. */
  readonly #memories: SentMemory[] = [];
  #turn: Answer[] = [];
  #waiting: Answer[] = [];
  #unsent = 0;
  #paused = false;
  #ending = false;

  constructor(stream: AnswerStream, account: ByteAccount = UNCOUNTED) {
    this.#stream = stream;
    this.#account = account;
  }

  /** Whether the peer takes no answers, so that one more cannot leave. */
  get blocked(): boolean {
    return this.#unsent >= UNSENT_MAX;
  }

  write(answer: Answer): void {
    const memory = 'memory' in answer ? answer.memory : undefined;
    if (this.#ending || this.#stream.cancelled) {
      memory?.leave();
      return;
    }
    if (memory !== undefined) this.#memories.push(memory);
    this.#account.hold(answerBytes(answer));
    if (this.#unsent < UNSENT_MAX && this.#waiting.length === 0) this.#send(answer);
    else this.#waiting.push(answer);
    if (this.#unsent >= UNSENT_MAX && !this.#paused) {
      this.#paused = true;
      this.#stream.pause();
    }
  }

  /** Forgets the answers that wait: the request is refused. */
  abandon(): void {
    this.#release(this.#waiting.splice(0));
  }

  /**
   * The stream has closed. The connection may hold parts of what has not been sent, for as long as
   * its client takes nothing: nothing waits for that.
   */
  closed(): void {
    for (const memory of this.#memories.splice(0)) memory.leave();
  }

  /** Ends the stream once all written answers have left. */
  end(): void {
    if (this.#ending) return;
    this.#ending = true;
    if (this.#waiting.length === 0) this.#endNow();
  }

  #send(answer: Answer): void {
    if (this.#turn.length === 0) this.#stream.afterTurn(this.#flush);
    this.#turn.push(answer);
    this.#unsent += 1;
  }

  #sendTurn(): void {
    const turn = this.#turn;
    if (turn.length === 0) return;
    this.#turn = [];
    this.#stream.send(turn, () => this.#onSent(turn));
  }

  #onSent(sent: readonly Answer[]): void {
    this.#unsent -= sent.length;
    this.#release(sent);
    for (const answer of sent) this.#freeAfter(answer);
    if (this.#stream.cancelled) {
      this.abandon();
      return;
    }
    // The next batch is sent when the whole batch before it has left.
    if (this.#unsent > 0) return;
    const next = this.#waiting.splice(0, UNSENT_MAX);
    for (const answer of next) this.#send(answer);
    if (this.#ending && next.length > 0 && this.#waiting.length === 0) this.#endNow();
    if (this.#paused && this.#unsent === 0) {
      this.#paused = false;
      this.#stream.resume();
    }
  }

  /** The stream has taken the answer, with all before it. */
  #freeAfter(answer: Answer): void {
    if (!('memory' in answer) || answer.memory === undefined) return;
    const { memory } = answer;
    const at = this.#memories.indexOf(memory);
    if (at < 0) return;
    this.#memories.splice(at, 1);
    this.#stream.afterWritten(() => memory.free());
  }

  #endNow(): void {
    this.#sendTurn();
    this.#stream.end();
  }

  #release(answers: readonly Answer[]): void {
    for (const answer of answers) this.#account.release(answerBytes(answer));
  }
}

function answerBytes(answer: Answer): number {
  let bytes = ANSWER_OVERHEAD_BYTES;
  const pieces = 'pieces' in answer ? answer.pieces : 'body' in answer ? answer.body : undefined;
  if (typeof pieces !== 'object') return bytes;
  for (const piece of pieces) bytes += piece.length;
  return bytes;
}
