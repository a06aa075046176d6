import { ZMQ_MESSAGE_BYTES_MAX } from './zmq-limits.ts';

/** Bytes of messages that have not come whole yet, for all who share it. */
export interface ReadRoom {
  left: number;
}

export interface ZmtpSink {
  command(name: string, data: Uint8Array): void;
  message(frames: readonly Uint8Array[]): void;
}

/** Messages of KV events have three or four. */
const FRAMES_MAX = 16;
const COMMAND_BYTES_MAX = 1024;

const GREETING_BYTES = 64;
const MECHANISM_AT = 12;
const MECHANISM_BYTES = 20;
const FLAG = { more: 1, long: 2, command: 4 } as const;

const latin1 = new TextDecoder('latin1');

/**
 * Reads what a ZMQ peer without encryption sends, in any pieces: its greeting, then commands and
 * messages (ZMTP 3, https://rfc.zeromq.org/spec/23/). Keeps no more than one message, and not the
 * pieces that it came in.
 */
export class ZmtpReader {
  readonly #sink: ZmtpSink;
  readonly #room: ReadRoom;
  /** What follows when `#target` is full. */
  #then: (bytes: Uint8Array) => void = (bytes) => this.#greeted(bytes);
  #target = new Uint8Array(GREETING_BYTES);
  #filled = 0;
  #flags = 0;
  #frames: Uint8Array[] = [];
  /** Bytes of `#frames` and of the frame that is being read, taken from the room. */
  #taken = 0;

  constructor(sink: ZmtpSink, room: ReadRoom) {
    this.#sink = sink;
    this.#room = room;
  }

  /** Throws an error where the bytes are not ZMTP 3 without encryption, or past a bound. */
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
    this.#giveBack();
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
    if (mechanism !== 'NULL') {
      throw new Error(
        `it demands ${JSON.stringify(mechanism)}; set kvEventsConfig.curve for CURVE`,
      );
    }
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
    if (this.#taken + size > ZMQ_MESSAGE_BYTES_MAX) {
      throw new Error(`a message has more than ${ZMQ_MESSAGE_BYTES_MAX} bytes`);
    }
    if (size > this.#room.left) {
      throw new Error('unfinished messages of all publishers take too much memory');
    }
    this.#room.left -= size;
    this.#taken += size;
    this.#read(size, (frame) => this.#framed(frame));
  }

  #commanded(body: Uint8Array): void {
    const behind = 1 + (body[0] ?? 0);
    this.#readHead();
    this.#sink.command(latin1.decode(body.subarray(1, behind)), body.subarray(behind));
  }

  #framed(frame: Uint8Array): void {
    this.#frames.push(frame);
    if (this.#frames.length > FRAMES_MAX) {
      throw new Error(`a message has more than ${FRAMES_MAX} frames`);
    }
    const frames = this.#frames;
    this.#readHead();
    if ((this.#flags & FLAG.more) !== 0) return;
    this.#frames = [];
    this.#giveBack();
    this.#sink.message(frames);
  }

  #giveBack(): void {
    this.#room.left += this.#taken;
    this.#taken = 0;
  }
}
