import { setImmediate } from 'node:timers/promises';
import type { Dealer, Subscriber } from 'zeromq';
import type { MessageSocket, MessageSocketOptions } from '../framework/runtime.ts';

/** Messages handled in a row before other work gets a turn: the socket itself never pauses. */
const MESSAGES_PER_TURN = 64;
/** Messages queued in our process; the sender holds back further ones. ZMQ's default. */
const RECEIVED_QUEUE_MAX = 1000;
/** A message is a batch of events of one engine step, which is far smaller. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;
/** The first and the longest wait between attempts to connect; the reference's figures. */
const RECONNECT_MS = 100;
const RECONNECT_MS_MAX = 5000;

/** Loads the native addon at first use. Never throws: a socket that cannot open stays silent. */
export function openZmqSocket(options: MessageSocketOptions): MessageSocket {
  let closed = false;
  let socket: Subscriber | Dealer | undefined;
  /** The socket accepts no second message before the first one is sent. */
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
      if (handled % MESSAGES_PER_TURN === 0) await setImmediate();
    }
  };
  // Closing the socket ends the loop above with an error.
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
    receiveHighWaterMark: RECEIVED_QUEUE_MAX,
    maxMessageSize: MESSAGE_BYTES_MAX,
    reconnectInterval: RECONNECT_MS,
    reconnectMaxInterval: RECONNECT_MS_MAX,
  };
  const socket = kind === 'subscriber' ? new zmq.Subscriber(common) : new zmq.Dealer(common);
  if (socket instanceof zmq.Subscriber) socket.subscribe(topic);
  if (onConnected !== undefined) socket.events.on('handshake', () => onConnected());
  return socket;
}
