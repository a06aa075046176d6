import type { MessageSocket, Network } from '../../framework/runtime.ts';

export interface KvEventClientOptions {
  readonly network: Network;
  /** Where the events are published. */
  readonly address: string;
  /** Where missed ones can be asked for; undefined where they cannot. */
  readonly replayAddress: string | undefined;
  /** How the topic of an event must begin. */
  readonly topic: string;
  readonly onConnected: () => void;
  readonly onEvents: (topic: string, sequence: number, payload: Uint8Array) => void;
  readonly onReplayed: (sequence: number, payload: Uint8Array) => void;
  readonly onReplayEnd: () => void;
}

export interface KvEventClient {
  /** All batches from this number on. What an earlier call has asked for no longer comes. */
  requestReplay(from: number): void;
  close(): void;
}

const SEQUENCE_BYTES = 8;
const utf8 = new TextDecoder();

/** A publisher's two sockets, as vLLM and SGLang speak over them: frames to numbers, and nothing kept. */
export function openKvEvents(options: KvEventClientOptions): KvEventClient {
  const { network, address, replayAddress, topic, onConnected, onEvents } = options;
  const events = network.openMessages?.({
    kind: 'subscriber',
    address,
    topic,
    onConnected,
    onMessage: (frames) => readEvents(frames, onEvents),
  });
  let replay: MessageSocket | undefined;
  return {
    requestReplay: (from) => {
      replay?.close();
      if (replayAddress === undefined) return;
      const dealer = network.openMessages?.({
        kind: 'dealer',
        address: replayAddress,
        onMessage: (frames) => {
          if (dealer === replay && readReplay(frames, options)) {
            replay = undefined;
            dealer?.close();
            options.onReplayEnd();
          }
        },
      });
      replay = dealer;
      dealer?.send([new Uint8Array(0), sequenceBytes(from)]);
    },
    close: () => {
      events?.close();
      replay?.close();
    },
  };
}

/** Topic, number, payload. Anything else is none of ours. */
export function readEvents(
  [topic, sequence, payload]: readonly Uint8Array[],
  onEvents: KvEventClientOptions['onEvents'],
): void {
  if (topic === undefined || payload === undefined) return;
  const number = sequenceOf(sequence);
  if (number !== undefined) onEvents(utf8.decode(topic), number, payload);
}

/** Whether it was the end. Before number and payload stands an empty frame, a topic, both or nothing. */
function readReplay(
  frames: readonly Uint8Array[],
  { onReplayed }: Pick<KvEventClientOptions, 'onReplayed'>,
): boolean {
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
