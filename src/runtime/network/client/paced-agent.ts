import { Agent, type Dispatcher } from 'undici';
import type { Clock } from '../../../framework/runtime.ts';
import { ChunkRate } from '../pieces/chunk-rate.ts';
import { PackedPieces } from '../pieces/packed-pieces.ts';

/** So many chunks of one read are free: a server that sends each token has few in one. */
const FREE = 100;
/** Further ones are read by so many. */
const AT_ONCE = 1000;

/**
 * What undici calls for a request of its own API, which has these older methods itself. The newer
 * ones would lose the case of header names, and join headers that come twice.
 */
type Receiver = Required<
  Pick<Dispatcher.DispatchHandler, 'onConnect' | 'onHeaders' | 'onData' | 'onComplete' | 'onError'>
>;

/**
 * Connections to servers whose answers may come in chunks of a byte: the chunks that came together
 * are passed on as one, and a server that sends many is not read for a while, so that the answers
 * of others have their turns.
 */
export class PacedAgent extends Agent {
  readonly #rate: ChunkRate;

  constructor({ clock, ...options }: Agent.Options & { readonly clock: Clock }) {
    super(options);
    this.#rate = new ChunkRate(clock);
  }

  override dispatch(options: Agent.DispatchOptions, receiver: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, new PacedAnswer(receiver as Receiver, this.#rate));
  }
}

class PacedAnswer implements Receiver {
  readonly #receiver: Receiver;
  readonly #rate: ChunkRate;
  readonly #packed = new PackedPieces();
  /** What has come in this turn of the loop, where that is one chunk. */
  #single: Buffer | undefined;
  #inTurn = 0;
  #resume = (): void => undefined;
  /** Whether the receiver has enough, and whether the server has sent too many chunks. */
  #isFull = false;
  #isHeld = false;

  constructor(receiver: Receiver, rate: ChunkRate) {
    this.#receiver = receiver;
    this.#rate = rate;
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#receiver.onConnect(abort);
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, text: string): boolean {
    this.#resume = resume;
    const onRoom = (): void => {
      this.#isFull = false;
      this.#goOn();
    };
    return this.#receiver.onHeaders(status, headers, onRoom, text);
  }

  onData(chunk: Buffer): boolean {
    this.#inTurn += 1;
    if (this.#inTurn === 1) {
      this.#single = chunk;
      // The chunks of one read come without a turn for promises between them.
      queueMicrotask(this.#pass);
    } else {
      if (this.#single !== undefined) this.#packed.add(this.#single);
      this.#single = undefined;
      this.#packed.add(chunk);
      if ((this.#inTurn - FREE) % AT_ONCE === 0) this.#hold();
    }
    return !this.#isFull && !this.#isHeld;
  }

  onComplete(trailers: string[] | null): void {
    this.#pass();
    this.#receiver.onComplete(trailers);
  }

  onError(error: Error): void {
    this.#pass();
    this.#receiver.onError(error);
  }

  readonly #pass = (): void => {
    if (this.#inTurn === 0) return;
    const piece = this.#single ?? this.#packed.take();
    this.#single = undefined;
    this.#inTurn = 0;
    this.#isFull = !this.#receiver.onData(piece);
  };

  #hold(): void {
    if (this.#rate.take(AT_ONCE)) return;
    this.#isHeld = true;
    this.#rate.whenRoom(AT_ONCE, () => {
      this.#isHeld = false;
      this.#goOn();
    });
  }

  #goOn(): void {
    if (!this.#isFull && !this.#isHeld) this.#resume();
  }
}
