import type {
  Clock,
  MessageSocket,
  MessageSocketOptions,
  Network,
  Random,
} from '../../../src/framework/runtime.ts';
import type { KvEngine, PublishedBatch } from './kv-engine.ts';

/** What may happen to messages and sockets; `calm`: nothing, and all are connected. */
export interface WireFaults {
  calm: boolean;
  /** Messages come within the call that sends or asks for them. */
  atOnce: boolean;
}

/** The connection of one subscriber, until it breaks. */
interface Connection {
  isOpen: boolean;
  readonly sent: (() => void)[];
}

/** The two sockets of one engine: messages get lost, come twice and late, and connections break. */
export class KvWire {
  readonly engine: KvEngine;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #faults: WireFaults;
  readonly #subscribers = new Set<MessageSocketOptions>();
  #connection: Connection | undefined;
  /** Answers that are under way; a restart ends them. */
  #answers = 0;

  constructor(engine: KvEngine, clock: Clock, random: Random, faults: WireFaults) {
    this.engine = engine;
    this.#clock = clock;
    this.#random = random;
    this.#faults = faults;
  }

  readonly open: NonNullable<Network['openMessages']> = (options) =>
    options.kind === 'subscriber' ? this.#subscribe(options) : this.#deal(options);

  /** Takes what the engine has published to those who are connected. */
  send(batch: PublishedBatch): void {
    if (this.#connection === undefined || this.#happens(0.02)) return;
    const frames = [new TextEncoder().encode('kv@pod@m'), numbered(batch), batch.payload];
    const deliver = (): void => {
      for (const { onMessage } of this.#subscribers) onMessage(frames);
    };
    if (this.#happens(0.01)) this.#later(this.#connection, 3, deliver);
    else this.#inOrder(this.#connection, deliver);
    if (this.#happens(0.02)) this.#inOrder(this.#connection, deliver);
  }

  /** The connection breaks, and comes back on its own; `restarts`: because the engine has ended. */
  break(restarts: boolean): void {
    if (this.#connection !== undefined) this.#connection.isOpen = false;
    this.#connection = undefined;
    if (restarts) {
      this.engine.restart();
      this.#answers += 1;
    }
    const away = this.#faults.calm ? 10 : 3000 * this.#random.next() ** 3;
    this.#clock.setTimer(away, () => this.connect());
  }

  connect(): void {
    if (this.#connection !== undefined) return;
    this.#connection = { isOpen: true, sent: [] };
    for (const { onConnected } of this.#subscribers) onConnected?.();
  }

  #subscribe(options: MessageSocketOptions): MessageSocket {
    this.#subscribers.add(options);
    this.#clock.setTimer(1, () => {
      if (this.#connection !== undefined && this.#subscribers.has(options)) options.onConnected?.();
    });
    return { send: () => undefined, close: () => void this.#subscribers.delete(options) };
  }

  #deal({ onMessage }: MessageSocketOptions): MessageSocket {
    let isOpen = true;
    const life = this.#answers;
    const deliver = (frames: readonly Uint8Array[]): void => {
      if (isOpen && life === this.#answers) onMessage(frames);
    };
    const send = (frames: readonly Uint8Array[]): void => {
      const from = Number(new DataView((frames[1] as Uint8Array).buffer).getBigUint64(0));
      if (this.#happens(0.1)) return;
      if (this.#faults.atOnce) this.#answer(from, deliver);
      else this.#clock.setTimer(2 * this.#random.next(), () => this.#answer(from, deliver));
    };
    return { send, close: () => void (isOpen = false) };
  }

  /** All batches and the end, or a part of them. */
  #answer(from: number, deliver: (frames: readonly Uint8Array[]) => void): void {
    const kept = this.engine.from(from);
    const isCut = this.#happens(0.1);
    const batches = isCut ? kept.slice(0, Math.floor(kept.length * this.#random.next())) : kept;
    const messages = batches.flatMap((batch) => {
      const frames = [new Uint8Array(), numbered(batch), batch.payload];
      if (this.#happens(0.005)) return [];
      return this.#happens(0.01) ? [frames, frames] : [frames];
    });
    if (!isCut) messages.push([new Uint8Array(), new Uint8Array(8).fill(255), new Uint8Array()]);
    const connection = { isOpen: true, sent: [] };
    for (const frames of messages) this.#inOrder(connection, () => deliver(frames));
  }

  /** After what was sent before on the same connection. */
  #inOrder(connection: Connection, deliver: () => void): void {
    if (this.#faults.atOnce) {
      if (connection.isOpen) deliver();
      return;
    }
    connection.sent.push(deliver);
    this.#later(connection, 0.2 * this.#random.next(), () => connection.sent.shift()?.());
  }

  #later(connection: Connection, delayMs: number, task: () => void): void {
    this.#clock.setTimer(delayMs, () => {
      if (connection.isOpen) task();
    });
  }

  #happens(probability: number): boolean {
    return !this.#faults.calm && this.#random.next() < probability;
  }
}

function numbered({ sequence }: PublishedBatch): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(sequence));
  return bytes;
}
