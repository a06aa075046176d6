import { performance } from 'node:perf_hooks';
import { MESSAGE_BYTES_MAX } from '../../messages/message.ts';
import type { TransportOptions } from './bounded-transport.ts';
import type { RedialPace } from './redial-pace.ts';

/** The servers of NATS, and how they are reached. */
export interface NatsServers {
  /** `nats://host:port` or `tls://host:port`; several of one cluster, separated by commas. */
  readonly servers: string;
  readonly tls?: NatsTls | undefined;
}

/** Each is read for each connection, so that a file that was replaced counts from the next one. */
interface NatsTls {
  /** Each throws an Error for a file that cannot be read. */
  readonly ca?: (() => Uint8Array) | undefined;
  readonly cert?: (() => Uint8Array) | undefined;
  readonly key?: (() => Uint8Array) | undefined;
}

interface ConnectionParts extends Pick<TransportOptions, 'onTooLarge' | 'onBadServer'> {
  /** The id of this replica, which names its connection. */
  readonly id: string;
  /** Says when to connect again. */
  readonly pace: RedialPace;
}

/** A server that has not answered by then is given up, and tried again. */
const CONNECT_MS = 10_000;
/**
 * By chance before each try to connect: replicas that have lost a server do not come back at once.
 */
const RECONNECT_JITTER_MS = 500;
/**
 * A connection that falls silent is found within seven of these. One over which an answer takes
 * less than six is kept: a slow line would else be given up again and again.
 */
const PING_MS = 1000;
const PINGS_OPEN_MAX = 6;
/** What the client of NATS is started with: it connects again by itself, at the given pace. */
export function connectionOptions(
  { servers, tls }: NatsServers,
  { id, pace, onTooLarge, onBadServer }: ConnectionParts,
): TransportOptions {
  return {
    servers: servers.split(',').map((each) => each.trim()),
    name: `pointsman ${id}`,
    noEcho: true,
    timeout: CONNECT_MS,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    // The client's own times are for each server: one that names many others would have all tried at
    // once.
    reconnectDelayHandler: () => Math.random() * RECONNECT_JITTER_MS,
    reconnectToServer: ([server]) =>
      server === undefined ? null : { server, delay: pace.nextIn(performance.now()) },
    pingInterval: PING_MS,
    maxPingOut: PINGS_OPEN_MAX,
    ...(tls && { tls: readFor(tls) }),
    messageBytesMax: MESSAGE_BYTES_MAX,
    onTooLarge,
    onBadServer,
  };
}

/**
 * The client of NATS reads these fields each time that it connects. Given names of files, it would
 * wait for ever at a pipe in the place of one.
 */
function readFor(tls: NatsTls): object {
  const fields = Object.entries(tls).filter(([, read]) => read !== undefined);
  return Object.defineProperties(
    {},
    Object.fromEntries(fields.map(([name, get]) => [name, { get, enumerable: true }])),
  );
}
