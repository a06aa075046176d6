import type { CurveFiles, MessageSocket, Network } from '../../../framework/runtime.ts';

interface KvEventClientOptions {
  readonly network: Network;
  readonly address: string;
  /** The ZMQ address that replays missed events; undefined where there is none. */
  readonly replayAddress: string | undefined;
  readonly curve: CurveFiles | undefined;
  /** The prefix of the topics to subscribe to. */
  readonly topic: string;
  readonly onConnected: () => void;
  readonly onEvents: (topic: string, sequence: number, payload: Uint8Array) => void;
  readonly onReplayed: (sequence: number, payload: Uint8Array) => void;
  readonly onReplayEnd: () => void;
  /** A socket at this address cannot be used, for this reason. */
  readonly onFailed: (address: string, reason: string) => void;
}

export interface KvEventClient {
  /** Requests all batches from this number on. Ends the answer to an earlier request. */
  requestReplay(from: number): void;
  close(): void;
}

const SEQUENCE_BYTES = 8;
const utf8 = new TextDecoder();

/** Connects to a publisher's two sockets with the framing of vLLM and SGLang. Keeps no state. */
export function openKvEvents(options: KvEventClientOptions): KvEventClient {
  return new EventSockets(options);
}

class EventSockets implements KvEventClient {
  readonly #options: KvEventClientOptions;
  readonly #events: MessageSocket | undefined;
  /** The one whose answer has not ended. */
  #replay: MessageSocket | undefined;

  constructor(options: KvEventClientOptions) {
    const { network, address, curve, topic, onConnected, onEvents, onFailed } = options;
    this.#options = options;
    this.#events = network.openMessages?.({
      kind: 'subscriber',
      address,
      curve,
      topic,
      onConnected,
      onMessage: (frames) => readKvEvents(frames, onEvents),
      onFailed: (reason) => onFailed(address, reason),
    });
  }

  requestReplay(from: number): void {
    const { network, replayAddress: address, curve, onReplayEnd, onFailed } = this.#options;
    this.#replay?.close();
    if (address === undefined) return;
    const dealer = network.openMessages?.({
      kind: 'dealer',
      address,
      curve,
      onFailed: (reason) => onFailed(address, reason),
      onMessage: (frames) => {
        if (dealer !== this.#replay || !readReplay(frames, this.#options)) return;
        this.#replay = undefined;
        dealer?.close();
        onReplayEnd();
      },
    });
    this.#replay = dealer;
    dealer?.send([new Uint8Array(0), sequenceBytes(from)]);
  }

  close(): void {
    this.#events?.close();
    this.#replay?.close();
  }
}

/** Reads the frames topic, number and payload. Ignores any other message. */
export function readKvEvents(
  [topic, sequence, payload]: readonly Uint8Array[],
  onEvents: KvEventClientOptions['onEvents'],
): void {
  if (topic === undefined || payload === undefined) return;
  const number = sequenceOf(sequence);
  if (number !== undefined) onEvents(utf8.decode(topic), number, payload);
}

/** Whether it marks the end. An empty frame and a topic may precede number and payload. */
function readReplay(frames: readonly Uint8Array[], { onReplayed }: KvEventClientOptions): boolean {
  const payload = frames.at(-1);
  const sequence = frames.at(-2);
  if (payload === undefined || sequence === undefined) return false;
  if (payload.length === 0) return true;
  const number = sequenceOf(sequence);
  if (number !== undefined) onReplayed(number, payload);
  return false;
}

function sequenceOf(bytes: Uint8Array | undefined): number | undefined {
  if (bytes?.length !== SEQUENCE_BYTES) return undefined;
  const number = new DataView(bytes.buffer, bytes.byteOffset, SEQUENCE_BYTES).getBigUint64(0);
  return number <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(number) : undefined;
}

function sequenceBytes(sequence: number): Uint8Array {
  const bytes = new Uint8Array(SEQUENCE_BYTES);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(sequence));
  return bytes;
}
