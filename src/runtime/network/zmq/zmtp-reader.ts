import { type ReadRoom, UnfinishedMessage } from './unfinished-message.ts';
import { readCommand } from './zmtp-frames.ts';

export interface ZmtpSink {
  /** What the peer has to speak. */
  readonly name: 'NULL' | 'CURVE';
  command(name: string, data: Uint8Array): void;
  message(frames: readonly Uint8Array[]): void;
}

const COMMAND_BYTES_MAX = 1024;

const GREETING_BYTES = 64;
const MECHANISM_AT = 12;
const MECHANISM_BYTES = 20;
const FLAG = { more: 1, long: 2, command: 4 } as const;

const ADVICE = {
  NULL: (found: string) =>
    `it demands ${JSON.stringify(found)}; set kvEventsConfig.curve for CURVE`,
  CURVE: (found: string) => `it speaks ${JSON.stringify(found)}, not CURVE: give it its keys`,
} as const;

const latin1 = new TextDecoder('latin1');

/**
 * Reads what a ZMQ peer sends, in any pieces: its greeting, then commands and
 * messages (ZMTP 3, https://rfc.zeromq.org/spec/23/). Keeps no more than one message, and not the
 * pieces that it came in.
 */
export class ZmtpReader {
  readonly #sink: ZmtpSink;
  readonly #unfinished: UnfinishedMessage;
  /** What follows when `#target` is full. */
  #then: (bytes: Uint8Array) => void = (bytes) => this.#greeted(bytes);
  #target = new Uint8Array(GREETING_BYTES);
  #filled = 0;
  #flags = 0;

  constructor(sink: ZmtpSink, room: ReadRoom) {
    this.#sink = sink;
    this.#unfinished = new UnfinishedMessage(room);
  }

  /** Throws an error where the bytes are not ZMTP 3 with this mechanism, or past a bound. */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + this.#target.length - this.#filled);
      this.#target.set(piece, this.#filled);
      this.#filled += piece.length;
      at += piece.length;
      if (this.#filled === this.#target.length) this.#then(this.#target);
    }
  }

  /** Gives the room of an unfinished message back. Must be called once, at the end. */
  close(): void {
    this.#unfinished.drop();
  }

  #read(count: number, then: (bytes: Uint8Array) => void): void {
    this.#target = new Uint8Array(count);
    this.#filled = 0;
    this.#then = then;
    if (count === 0) then(this.#target);
  }

  #greeted(greeting: Uint8Array): void {
    if (greeting[0] !== 0xff || ((greeting[9] as number) & 1) === 0 || (greeting[10] as number) < 3)
      throw new Error('what answers does not speak ZMTP 3');
    const name = latin1.decode(greeting.subarray(MECHANISM_AT, MECHANISM_AT + MECHANISM_BYTES));
    const mechanism = name.replace(/\0+$/, '');
    if (mechanism !== this.#sink.name) throw new Error(ADVICE[this.#sink.name](mechanism));
    this.#readHead();
  }

  #readHead(): void {
    this.#read(1, ([flags = 0]) => {
      if (flags > 7) throw new Error(`a frame has the flags ${flags}, which ZMTP 3 does not have`);
      this.#flags = flags;
      this.#read((flags & FLAG.long) === 0 ? 1 : 8, (size) => this.#sized(size));
    });
  }

  #sized(bytes: Uint8Array): void {
    const size = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
    if ((this.#flags & FLAG.command) !== 0) {
      if (size > COMMAND_BYTES_MAX) {
        throw new Error(`a command has ${size} bytes, more than ${COMMAND_BYTES_MAX}`);
      }
      this.#read(size, (command) => this.#commanded(command));
      return;
    }
    this.#unfinished.take(size);
    this.#read(size, (frame) => this.#framed(frame));
  }

  #commanded(body: Uint8Array): void {
    this.#readHead();
    const { name, data } = readCommand(body);
    this.#sink.command(name, data);
  }

  #framed(frame: Uint8Array): void {
    const frames = this.#unfinished.add(frame, (this.#flags & FLAG.more) !== 0);
    this.#readHead();
    if (frames !== undefined) this.#sink.message(frames);
  }
}
