import type { Socket } from 'node:net';
import { Agent, type buildConnector, type Dispatcher } from 'undici';
import type { Clock } from '../../../framework/runtime.ts';
import { ChunkRate } from '../pieces/chunk-rate.ts';
import { PackedPieces } from '../pieces/packed-pieces.ts';
import { HeadGuard, UNBOUNDED_HEAD_BYTES } from './head-guard.ts';

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

type PacedOptions = Omit<Agent.Options, 'connect' | 'maxHeaderSize'> & {
  readonly clock: Clock;
  readonly connect: buildConnector.connector;
};

/**
 * Connections to servers whose answers may come in chunks of a byte: the chunks that came together
 * are passed on as one, and a server that sends many is not read for a while, so that the answers
 * of others have their turns. A connection ends whose server sends headers or trailers without end.
 */
export class PacedAgent extends Agent {
  readonly #rate: ChunkRate;
  readonly #guards: HeadGuards;

  constructor({ clock, connect, ...options }: PacedOptions) {
    const guards = new HeadGuards();
    super({
      ...options,
      maxHeaderSize: UNBOUNDED_HEAD_BYTES,
      connect: (target, callback) =>
        connect(target, (...outcome) => {
          const [, socket] = outcome;
          if (socket) guards.watch(socket);
          callback(...outcome);
        }),
    });
    this.#rate = new ChunkRate(clock);
    this.#guards = guards;
  }

  override dispatch(options: Agent.DispatchOptions, receiver: Dispatcher.DispatchHandler): boolean {
    const answer = new PacedAnswer(receiver as Receiver, this.#rate, this.#guards);
    return super.dispatch(options, answer);
  }
}

/**
 * The guards of an agent's connections. undici does not say which connection an answer comes by, but
 * it reads what a piece says before it takes the next one.
 */
class HeadGuards {
  #reading: HeadGuard | undefined;

  watch(socket: Socket): void {
    new HeadGuard(socket, this.#onRead);
  }

  /** A server has begun to answer, or sent a part of a body: it is the one that is read. */
  progressed(): void {
    this.#reading?.progressed();
  }

  readonly #onRead = (guard: HeadGuard): void => {
    this.#reading = guard;
  };
}

class PacedAnswer implements Receiver {
  readonly #receiver: Receiver;
  readonly #rate: ChunkRate;
  readonly #guards: HeadGuards;
  readonly #packed = new PackedPieces();
  /** What has come in this turn of the loop, where that is one chunk. */
  #single: Buffer | undefined;
  #inTurn = 0;
  #resume = (): void => undefined;
  /** Whether the receiver has enough, and whether the server has sent too many chunks. */
  #isFull = false;
  #isHeld = false;

  constructor(receiver: Receiver, rate: ChunkRate, guards: HeadGuards) {
    this.#receiver = receiver;
    this.#rate = rate;
    this.#guards = guards;
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#receiver.onConnect(abort);
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, text: string): boolean {
    this.#resume = resume;
    this.#guards.progressed();
    const onRoom = (): void => {
      this.#isFull = false;
      this.#goOn();
    };
    return this.#receiver.onHeaders(status, headers, onRoom, text);
  }

  onData(chunk: Buffer): boolean {
    this.#guards.progressed();
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
    this.#guards.progressed();
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
