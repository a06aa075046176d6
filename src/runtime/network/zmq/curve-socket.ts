import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import type { Dealer, Subscriber } from 'zeromq';
import { messageOf } from '../../../framework/error.ts';
import type {
  CurveFiles,
  MessageSocket,
  MessageSocketOptions,
} from '../../../framework/runtime.ts';
import { readCurveKeys } from './curve-keys.ts';
import {
  RECONNECT_MS,
  RECONNECT_MS_MAX,
  REOPEN_MS,
  SenderPace,
  ZMQ_MESSAGE_BYTES_MAX,
} from './zmq-limits.ts';

/** Messages handled in a row before other work gets a turn: the socket itself never pauses. */
const MESSAGES_PER_TURN = 64;
/** Messages queued in our process; the sender holds back further ones. */
const RECEIVED_QUEUE_MAX = 64;

interface CurveSocketOptions extends MessageSocketOptions {
  readonly curve: CurveFiles;
}

/**
 * A socket of libzmq, with encryption. Loads the native addon at first use. libzmq bounds each frame of
 * a message and not how many there are: only a peer that has the right key can send them.
 */
export function openCurveSocket(options: CurveSocketOptions): MessageSocket {
  let closed = false;
  let socket: Subscriber | Dealer | undefined;
  let reopening: NodeJS.Timeout | undefined;
  /** The socket accepts no second message before the first one is sent. */
  let sending: Promise<void> = Promise.resolve();
  const early: (readonly Uint8Array[])[] = [];
  const send = (frames: readonly Uint8Array[]): void => {
    if (closed) return;
    if (socket === undefined) early.push(frames);
    else sending = sending.then(() => sent(socket, frames)).catch(() => undefined);
  };
  const open = async (): Promise<void> => {
    let made: Subscriber | Dealer | undefined;
    try {
      made = await createSocket(options);
      if (options.bind === true) await made.bind(options.address);
      else made.connect(options.address);
      if (closed) {
        made.close();
        return;
      }
      socket = made;
      for (const frames of early.splice(0)) send(frames);
      await receive(made, options.onMessage);
    } catch (error) {
      // Closing the socket ends the wait for messages with an error.
      if (closed) return;
      socket = undefined;
      made?.close();
      options.onFailed?.(failure(options, error));
      reopening = setTimeout(() => void open(), REOPEN_MS).unref();
    }
  };
  void open();
  return {
    send,
    close: () => {
      closed = true;
      clearTimeout(reopening);
      socket?.close();
    },
  };
}

async function receive(
  socket: Subscriber | Dealer,
  onMessage: MessageSocketOptions['onMessage'],
): Promise<void> {
  const pace = new SenderPace();
  let handled = 0;
  for await (const frames of socket) {
    const startedAt = performance.now();
    if (!socket.closed) onMessage(frames);
    const pause = pace.worked(performance.now() - startedAt);
    handled += 1;
    if (pause !== undefined) await pause;
    else if (handled % MESSAGES_PER_TURN === 0) await setImmediate();
  }
}

function failure({ bind, address }: MessageSocketOptions, error: unknown): string {
  const what = bind === true ? 'listen at' : 'connect to';
  const reason = messageOf(error);
  return `cannot ${what} ${address}: ${reason}; trying again every ${REOPEN_MS / 1000} s`;
}

async function sent(
  socket: Subscriber | Dealer | undefined,
  frames: readonly Uint8Array[],
): Promise<void> {
  if (socket !== undefined && 'send' in socket) await socket.send([...frames]);
}

async function createSocket({
  kind,
  bind = false,
  curve,
  topic = '',
  onConnected,
}: CurveSocketOptions): Promise<Subscriber | Dealer> {
  const zmq = await import('zeromq');
  const newPair = zmq.curveKeyPair;
  const common = {
    ...readCurveKeys(curve, { bind, newPair }),
    linger: 0,
    receiveHighWaterMark: RECEIVED_QUEUE_MAX,
    maxMessageSize: ZMQ_MESSAGE_BYTES_MAX,
    reconnectInterval: RECONNECT_MS,
    reconnectMaxInterval: RECONNECT_MS_MAX,
  };
  const socket = kind === 'subscriber' ? new zmq.Subscriber(common) : new zmq.Dealer(common);
  if (socket instanceof zmq.Subscriber) socket.subscribe(topic);
  if (onConnected !== undefined) socket.events.on('handshake', () => onConnected());
  return socket;
}
