import { CurveClient, type CurveHandshake, CurveServer } from './curve/curve-handshake.ts';
import type { CurveKeys } from './curve/curve-keys.ts';
import { type CurveFrame, CurveTraffic } from './curve/curve-traffic.ts';
import { type ReadRoom, UnfinishedMessage } from './unfinished-message.ts';
import {
  commandBody,
  commandBytes,
  greetingBytes,
  messageBytes,
  metadataBytes,
  readCommand,
} from './zmtp-frames.ts';

/** What a connection does with what its mechanism has read. */
export interface MechanismSink {
  send(bytes: Uint8Array): void;
  /** Both sides have agreed. Called once, before any message. */
  ready(): void;
  command(name: string, data: Uint8Array): void;
  message(frames: readonly Uint8Array[]): void;
}

/** How two peers agree and write to each other. Throws at what the peer must not send. */
export interface Mechanism {
  readonly name: 'NULL' | 'CURVE';
  /** The first bytes to send. */
  opening(): Uint8Array;
  command(name: string, data: Uint8Array): void;
  message(frames: readonly Uint8Array[]): void;
  messageBytes(frames: readonly Uint8Array[]): Uint8Array;
  commandBytes(name: string, data: Uint8Array): Uint8Array;
  /** Must be called once, at the end. */
  close(): void;
}

interface MechanismOptions {
  readonly kind: 'subscriber' | 'dealer';
  /** Undefined: without encryption. */
  readonly curve: CurveKeys | undefined;
  readonly room: ReadRoom;
}

export function createMechanism(options: MechanismOptions, sink: MechanismSink): Mechanism {
  const { curve, kind, room } = options;
  const metadata = metadataBytes(kind);
  return curve === undefined
    ? new NullMechanism(metadata, sink)
    : new CurveMechanism({ keys: curve, metadata, room }, sink);
}

class NullMechanism implements Mechanism {
  readonly name = 'NULL';
  readonly messageBytes = messageBytes;
  readonly #metadata: Uint8Array;
  readonly #sink: MechanismSink;
  #isReady = false;

  constructor(metadata: Uint8Array, sink: MechanismSink) {
    this.#metadata = metadata;
    this.#sink = sink;
  }

  opening(): Uint8Array {
    return Buffer.concat([
      greetingBytes(this.name, 'client'),
      this.commandBytes('READY', this.#metadata),
    ]);
  }

  command(name: string, data: Uint8Array): void {
    if (name !== 'READY') return this.#sink.command(name, data);
    if (this.#isReady) throw new Error('it says twice that it is ready');
    this.#isReady = true;
    this.#sink.ready();
  }

  message(frames: readonly Uint8Array[]): void {
    if (!this.#isReady) throw new Error('it sends a message before it is ready');
    this.#sink.message(frames);
  }

  commandBytes(name: string, data: Uint8Array): Uint8Array {
    return commandBytes(commandBody(name, data));
  }

  close(): void {}
}

/** As libzmq bounds commands that are not encrypted. */
const COMMAND_BYTES_MAX = 1024;
const MESSAGE = 'MESSAGE';

interface CurveOptions {
  readonly keys: CurveKeys;
  readonly metadata: Uint8Array;
  readonly room: ReadRoom;
}

class CurveMechanism implements Mechanism {
  readonly name = 'CURVE';
  readonly #sink: MechanismSink;
  readonly #handshake: CurveHandshake;
  readonly #side: CurveKeys['side'];
  readonly #unfinished: UnfinishedMessage;
  /** Undefined until both sides have agreed. */
  #traffic: CurveTraffic | undefined;

  constructor({ keys, metadata, room }: CurveOptions, sink: MechanismSink) {
    this.#sink = sink;
    this.#side = keys.side;
    this.#unfinished = new UnfinishedMessage(room);
    this.#handshake =
      keys.side === 'server' ? new CurveServer(keys, metadata) : new CurveClient(keys, metadata);
  }

  opening(): Uint8Array {
    const first = this.#handshake.begin();
    const greeting = greetingBytes(this.name, this.#side);
    return first === undefined ? greeting : Buffer.concat([greeting, commandBytes(first)]);
  }

  command(name: string, data: Uint8Array): void {
    if (this.#traffic !== undefined) {
      if (name !== MESSAGE) throw new Error('it sends a command that is not encrypted');
      return this.#take(this.#traffic.opened(data));
    }
    if (name === 'ERROR') return this.#sink.command(name, data);
    const { send, agreed } = this.#handshake.take(name, data);
    if (send !== undefined) this.#sink.send(commandBytes(send));
    if (agreed === undefined) return;
    this.#traffic = new CurveTraffic(agreed);
    this.#sink.ready();
  }

  /** libzmq sends what is encrypted in frames of messages, one for each. */
  message([frame = new Uint8Array(), ...others]: readonly Uint8Array[]): void {
    const { name, data } = readCommand(frame);
    if (this.#traffic === undefined || name !== MESSAGE || others.length > 0) {
      throw new Error('it sends a message that is not encrypted');
    }
    this.#take(this.#traffic.opened(data));
  }

  #take({ more, isCommand, body }: CurveFrame): void {
    if (isCommand) {
      if (body.length > COMMAND_BYTES_MAX) {
        throw new Error(`a command has ${body.length} bytes, more than ${COMMAND_BYTES_MAX}`);
      }
      const { name, data } = readCommand(body);
      return this.#sink.command(name, data);
    }
    this.#unfinished.take(body.length);
    const frames = this.#unfinished.add(body, more);
    if (frames !== undefined) this.#sink.message(frames);
  }

  messageBytes(frames: readonly Uint8Array[]): Uint8Array {
    const last = frames.length - 1;
    return Buffer.concat(
      frames.map((body, at) => this.#sealed({ more: at < last, isCommand: false, body })),
    );
  }

  commandBytes(name: string, data: Uint8Array): Uint8Array {
    return this.#sealed({ more: false, isCommand: true, body: commandBody(name, data) });
  }

  #sealed(frame: CurveFrame): Uint8Array {
    if (this.#traffic === undefined) throw new Error('nothing is agreed on yet');
    return messageBytes([this.#traffic.sealed(frame)]);
  }

  close(): void {
    this.#unfinished.drop();
  }
}
