import { lookup } from 'node:dns/promises';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/nats-core';
import { messageOf } from '../../../framework/error.ts';
import { MESSAGE_BYTES_MAX } from '../../messages/message.ts';
import type { LinkEvents, OpenReplicaLink, ReplicaLink } from '../link.ts';
import { BoundedTransport } from './bounded-transport.ts';
import { connectionOptions, type NatsServers } from './connection-options.ts';
import { keepSubscribed } from './keep-subscribed.ts';
import { RedialPace } from './redial-pace.ts';
import { Seal } from './seal.ts';

export interface NatsLinkOptions extends NatsServers {
  /** The replicas of a pool have the same, and those of other pools another. */
  readonly subject: string;
  /** Reads a file of NATS credentials. */
  readonly credentials?: (() => Uint8Array) | undefined;
  /** All replicas have it: only messages that are marked with it are taken. */
  readonly key?: Uint8Array | undefined;
}

/** What has been sent has left by then, or the server does not read it. */
const FLUSH_MS = 1000;
/**
 * What NATS has not confirmed: it is asked beyond the first, and beyond the second nothing more is
 * sent.
 */
const CONFIRM_BYTES = 1024 * 1024;
const UNCONFIRMED_BYTES_MAX = 8 * 1024 * 1024;

/** A link over NATS. It loads the client of NATS when it is opened. */
export function natsLink(options: NatsLinkOptions): OpenReplicaLink {
  return (id, events) => new NatsLink(options, id, events);
}

/** The reason with which a connection of a former turn ends. It is not reported. */
const IS_OVER = 'it is over';

class NatsLink implements ReplicaLink {
  readonly #options: NatsLinkOptions;
  readonly #events: LinkEvents;
  readonly #id: string;
  readonly #seal: Seal | undefined;
  #connection: NatsConnection | undefined;
  #connected = false;
  #closed = false;
  /** Changes with each pause and resumption: what belongs to a former one is over. */
  #turn = 0;
  readonly #pace = new RedialPace();
  #unconfirmed = 0;
  #confirming = false;

  constructor(options: NatsLinkOptions, id: string, events: LinkEvents) {
    this.#options = options;
    this.#events = events;
    this.#id = id;
    this.#seal = options.key && new Seal(options.key);
    this.resume();
  }

  send(message: Uint8Array, to?: string): boolean {
    const connection = this.#connection;
    if (connection === undefined || !this.#connected) return false;
    if (this.#unconfirmed > UNCONFIRMED_BYTES_MAX) return false;
    const { subject } = this.#options;
    // A copy, because the client of NATS sends later.
    const bytes = this.#seal?.close(message) ?? message.slice();
    try {
      connection.publish(to === undefined ? `${subject}.all` : directTo(subject, to), bytes);
    } catch {
      return false;
    }
    this.#unconfirmed += bytes.length;
    if (this.#unconfirmed > CONFIRM_BYTES) this.#confirm(connection);
    return true;
  }

  /** Closes the connection: what NATS has on the way would else still be read. */
  pause(): void {
    this.#turn += 1;
    this.#connected = false;
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.close().catch(() => undefined);
  }

  resume(): void {
    if (this.#closed) return;
    this.#turn += 1;
    void this.#stay(this.#turn);
  }

  async close(): Promise<void> {
    this.#turn += 1;
    this.#closed = true;
    this.#connected = false;
    const connection = this.#connection;
    if (connection === undefined) return;
    const flushed = connection.flush().catch(() => undefined);
    await Promise.race([flushed, delay(FLUSH_MS, undefined, { ref: false })]);
    await connection.close();
  }

  /**
   * The client of NATS connects again by itself, but never again after it could not read the
   * credentials, such as while their file is replaced.
   */
  async #stay(turn: number): Promise<void> {
    while (turn === this.#turn) {
      const reason = await this.#connect(turn).catch(messageOf);
      if (turn !== this.#turn) return;
      this.#connection = undefined;
      this.#lost(reason);
      this.#events.onRefused?.(`the client of NATS gives up (${reason}); it is tried again`);
      const waitMs = this.#pace.nextIn(performance.now());
      await delay(waitMs, undefined, { ref: false });
    }
  }

  /** Resolves with the reason when the client has given up the connection. */
  async #connect(turn: number): Promise<string> {
    const connection = await this.#open();
    if (turn !== this.#turn) {
      await connection.close();
      return IS_OVER;
    }
    this.#connection = connection;
    const { subject } = this.#options;
    for (const each of [`${subject}.all`, directTo(subject, this.#id)]) {
      keepSubscribed(connection, each, (data) => this.#received(data));
    }
    this.#found();
    this.#checkSize(connection);
    return await this.#follow(connection, turn);
  }

  async #open(): Promise<NatsConnection> {
    const { NatsConnectionImpl, credsAuthenticator, setTransportFactory } = await import(
      '@nats-io/nats-core/internal'
    );
    setTransportFactory({ factory: () => new BoundedTransport(), dnsResolveFn: addressesOf });
    const { credentials } = this.#options;
    const options = {
      ...connectionOptions(this.#options, {
        id: this.#id,
        pace: this.#pace,
        onTooLarge: (bytes) => this.#events.onForged(bytes),
        onBadServer: (reason) => this.#lost(`the NATS server is left: ${reason}`),
      }),
      ...(credentials && { authenticator: credsAuthenticator(credentials) }),
    };
    return await NatsConnectionImpl.connect(options).catch((error: unknown) => {
      // With `waitOnFirstConnect` from the start, an address that is wrong would never be reported.
      this.#lost(messageOf(error));
      return NatsConnectionImpl.connect({ ...options, waitOnFirstConnect: true });
    });
  }

  /** Says what becomes of the connection, as long as it is this turn's. */
  async #follow(connection: NatsConnection, turn: number): Promise<string> {
    for await (const status of connection.status()) {
      const { type } = status;
      // One that was closed for a pause says so later, when another may be there.
      if (turn !== this.#turn) return IS_OVER;
      if (type === 'disconnect' || type === 'staleConnection') this.#lost('the connection is lost');
      else if (type === 'reconnect') {
        this.#found();
        this.#checkSize(connection);
      } else if (type === 'error') {
        this.#events.onRefused?.(
          `NATS refuses it (${status.error.message}): give the user of the replicas the right to publish and subscribe to ${this.#options.subject}.>`,
        );
      }
    }
    return messageOf((await connection.closed()) ?? new Error('the client of NATS has closed it'));
  }

  /**
   * The client throws away a message that the server would not take, and keeps the connection.
   */
  #checkSize({ info }: NatsConnection): void {
    const max = info?.max_payload ?? MESSAGE_BYTES_MAX;
    if (max >= MESSAGE_BYTES_MAX) return;
    this.#events.onRefused?.(
      `NATS takes messages of ${max} bytes, and replicas send up to ${MESSAGE_BYTES_MAX}: set its max_payload to that or more`,
    );
  }

  #found(): void {
    if (this.#closed) return;
    this.#connected = true;
    this.#pace.connected(performance.now());
    this.#unconfirmed = 0;
    this.#events.onConnected();
  }

  #lost(reason: string): void {
    this.#connected = false;
    if (!this.#closed) this.#events.onDisconnected(reason);
  }

  #received(data: Uint8Array): void {
    const message = this.#seal === undefined ? data : this.#seal.open(data);
    if (message === undefined) this.#events.onForged(data.length);
    else this.#events.onMessage(message);
  }

  #confirm(connection: NatsConnection): void {
    if (this.#confirming) return;
    this.#confirming = true;
    const sent = this.#unconfirmed;
    const confirmed = (): void => {
      this.#confirming = false;
      this.#unconfirmed = Math.max(0, this.#unconfirmed - sent);
    };
    connection.flush().then(confirmed, confirmed);
  }
}

async function addressesOf(name: string): Promise<string[]> {
  const all = await lookup(name, { all: true });
  return all.map(({ address }) => address);
}

/** A part of a subject may not have dots, spaces and wildcards. */
function directTo(subject: string, id: string): string {
  return `${subject}.to.${id.replaceAll(/[^\w-]/g, '_')}`;
}
