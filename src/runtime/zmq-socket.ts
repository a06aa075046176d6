import { setImmediate } from 'node:timers/promises';
import type { Dealer, Subscriber } from 'zeromq';
import type { MessageSocket, MessageSocketOptions } from '../framework/runtime.ts';

/** Messages handled before others get a turn: the socket gives them without pause while it has any. */
const MESSAGES_A_TURN = 64;
/** Waiting in our process, beyond which the sender holds them: ZMQ's default. */
const RECEIVED_WAITING_MAX = 1000;
/** A batch of a publisher is one step of an engine; nothing honest comes near. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;
/** Between attempts to connect: at first, and at most (the reference's). */
const RECONNECT_MS = 100;
const RECONNECT_MS_MAX = 5000;

/** The addon is loaded by those who use it. Never rejects, never throws: a socket that cannot be is silent. */
export function openZmqSocket(options: MessageSocketOptions): MessageSocket {
  let closed = false;
  let socket: Subscriber | Dealer | undefined;
  /** The socket takes no second message before the first is through. */
  let sending: Promise<void> = Promise.resolve();
  const early: (readonly Uint8Array[])[] = [];
  const send = (frames: readonly Uint8Array[]): void => {
    if (closed) return;
    if (socket === undefined) early.push(frames);
    else sending = sending.then(() => sent(socket, frames)).catch(() => undefined);
  };
  const open = async (): Promise<void> => {
    const made = await createSocket(options);
    if (closed) {
      made.close();
      return;
    }
    if (options.bind === true) await made.bind(options.address);
    else made.connect(options.address);
    socket = made;
    for (const frames of early.splice(0)) send(frames);
    let handled = 0;
    for await (const frames of made) {
      if (closed) return;
      options.onMessage(frames);
      handled += 1;
      if (handled % MESSAGES_A_TURN === 0) await setImmediate();
    }
  };
  // A socket closed while it is being read from ends its loop with an error.
  void open().catch(() => undefined);
  return {
    send,
    close: () => {
      closed = true;
      socket?.close();
    },
  };
}

async function sent(
  socket: Subscriber | Dealer | undefined,
  frames: readonly Uint8Array[],
): Promise<void> {
  if (socket !== undefined && 'send' in socket) await socket.send([...frames]);
}

async function createSocket({
  kind,
  topic = '',
  onConnected,
}: MessageSocketOptions): Promise<Subscriber | Dealer> {
  const zmq = await import('zeromq');
  const common = {
    linger: 0,
    receiveHighWaterMark: RECEIVED_WAITING_MAX,
    maxMessageSize: MESSAGE_BYTES_MAX,
    reconnectInterval: RECONNECT_MS,
    reconnectMaxInterval: RECONNECT_MS_MAX,
  };
  const socket = kind === 'subscriber' ? new zmq.Subscriber(common) : new zmq.Dealer(common);
  if (socket instanceof zmq.Subscriber) socket.subscribe(topic);
  if (onConnected !== undefined) socket.events.on('handshake', () => onConnected());
  return socket;
}
