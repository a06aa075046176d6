import { ZMQ_MESSAGE_BYTES_MAX } from './zmq-limits.ts';

/** Bytes of messages that have not come whole yet, of all connections that share it. */
export interface ReadRoom {
  left: number;
}

/** Messages of KV events have three or four. */
const FRAMES_MAX = 16;

/** The frames of a message that has not come whole yet. */
export class UnfinishedMessage {
  readonly #room: ReadRoom;
  #frames: Uint8Array[] = [];
  /** Taken from the room. */
  #bytes = 0;

  constructor(room: ReadRoom) {
    this.#room = room;
  }

  /** To be called before so many bytes of a frame are kept. Throws where they pass a bound. */
  take(bytes: number): void {
    if (this.#bytes + bytes > ZMQ_MESSAGE_BYTES_MAX) {
      throw new Error(`a message has more than ${ZMQ_MESSAGE_BYTES_MAX} bytes`);
    }
    if (bytes > this.#room.left) {
      throw new Error('unfinished messages of all publishers take too much memory');
    }
    this.#room.left -= bytes;
    this.#bytes += bytes;
  }

  /** The whole message, where this is its last frame. Throws where it has too many. */
  add(frame: Uint8Array, more: boolean): readonly Uint8Array[] | undefined {
    this.#frames.push(frame);
    if (this.#frames.length > FRAMES_MAX) {
      throw new Error(`a message has more than ${FRAMES_MAX} frames`);
    }
    if (more) return undefined;
    const frames = this.#frames;
    this.drop();
    return frames;
  }

  /** Gives the room back. */
  drop(): void {
    this.#frames = [];
    this.#room.left += this.#bytes;
    this.#bytes = 0;
  }
}
