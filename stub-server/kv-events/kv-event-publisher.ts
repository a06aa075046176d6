import { Publisher, Router } from 'zeromq';
import { nodeClock } from '../../src/runtime/clock/node-clock.ts';
import { ListenError } from '../../src/runtime/network/server/listen.ts';
import { encodeBatch } from './encode-batch.ts';
import type { KvEvent, KvEventFormat } from './kv-event.ts';

interface KvPublisherOptions {
  readonly endpoint: string;
  /** By default vLLM's rule: bind to an address with `*`, `::`, ipc or inproc, else connect. */
  readonly bind?: boolean;
  /** Address to bind for replays of past batches; none by default. */
  readonly replayEndpoint?: string | undefined;
  /** Batches that are kept for replays; vLLM's default if it is left out. */
  readonly replayBatches?: number | undefined;
  /** Keys of a CURVE server, for both sockets. */
  readonly curve?: { readonly secretKey: string } | undefined;
  readonly topic: string;
  readonly format: KvEventFormat;
  readonly dataParallelRank: number;
  /** Seconds since the epoch. */
  readonly wallSeconds: () => number;
}

/** vLLM's defaults. */
const HIGH_WATER_MARK = 100_000;
const REPLAY_BATCHES = 10_000;
/** vLLM's rule for addresses that it binds to. */
const BINDS = /\*|::|^ipc:|^inproc:/;
const REOPEN_ATTEMPTS_MAX = 200;
const REOPEN_MS = 25;
/** Sockets do not become faster with the model's time. */
const realTime = nodeClock();
/** The sequence number that marks the end of a replay. */
const END_OF_REPLAY = Buffer.alloc(8, 0xff);

interface Sockets {
  readonly publisher: Publisher;
  readonly router: Router;
}

interface Addresses {
  readonly endpoint: string;
  readonly replayEndpoint: string | undefined;
}

/**
 * Publishes a prefix cache's events as vLLM does: topic, sequence number (eight bytes, from 0),
 * batch in msgpack. Subscribers can request missed batches at the replay socket.
 */
export class KvEventPublisher {
  readonly #options: KvPublisherOptions;
  readonly #topic: Buffer;
  /** Undefined while it is closed. */
  #sockets: Sockets | undefined;
  /** Where it is bound or connected; kept while it is closed. */
  #addresses: Addresses;
  /** The last batches, oldest first. */
  readonly #sent: { readonly sequence: number; readonly payload: Uint8Array }[] = [];
  #sequence = 0;
  /** The send in progress: the socket accepts only one at a time. */
  #sending: Promise<void> = Promise.resolve();

  constructor(options: KvPublisherOptions) {
    const { endpoint, replayEndpoint, topic } = options;
    this.#options = options;
    this.#addresses = { endpoint, replayEndpoint };
    this.#topic = Buffer.from(topic, 'utf8');
  }

  async open(): Promise<void> {
    const { curve, bind = BINDS.test(this.#options.endpoint) } = this.#options;
    const { endpoint, replayEndpoint } = this.#addresses;
    const keys = curve && { curveServer: true, curveSecretKey: curve.secretKey };
    const publisher = new Publisher({ sendHighWaterMark: HIGH_WATER_MARK, linger: 0, ...keys });
    const router = new Router({ linger: 0, ...keys });
    this.#sockets = { publisher, router };
    if (bind) await bindTo(publisher, endpoint);
    else publisher.connect(endpoint);
    if (replayEndpoint !== undefined) {
      await bindTo(router, replayEndpoint);
      void this.#serveReplays(router);
    }
    this.#addresses = {
      endpoint: publisher.lastEndpoint ?? endpoint,
      replayEndpoint: router.lastEndpoint ?? undefined,
    };
  }

  /** The bound or connected address. */
  get endpoint(): string {
    return this.#addresses.endpoint;
  }

  get replayEndpoint(): string | undefined {
    return this.#addresses.replayEndpoint;
  }

  /** Sends a batch, unless it is empty. While the sockets open, it is only kept for replays. */
  publish(events: readonly KvEvent[]): void {
    if (events.length === 0) return;
    const { format, dataParallelRank, wallSeconds, replayBatches } = this.#options;
    const batch = { timestampS: wallSeconds(), events, dataParallelRank };
    const payload = encodeBatch(batch, format);
    const sequence = this.#sequence;
    this.#sequence += 1;
    this.#sent.push({ sequence, payload });
    if (this.#sent.length > (replayBatches ?? REPLAY_BATCHES)) this.#sent.shift();
    this.#sending = this.#sending
      .then(() => this.#sockets?.publisher.send([this.#topic, numbered(sequence), payload]))
      .catch(() => undefined);
  }

  /** Disconnects all subscribers and drops all batches, as the end of the engine's process does. */
  crash(): void {
    this.#closeSockets();
    this.#sent.length = 0;
    this.#sequence = 0;
  }

  /** Opens new sockets at the same addresses after `crash`. Gives up after five seconds. */
  async restart(): Promise<void> {
    for (let left = REOPEN_ATTEMPTS_MAX; left > 0 && this.#sockets === undefined; left--) {
      try {
        await this.open();
      } catch {
        this.#closeSockets();
        // ZMQ gives a port back some time after its socket was closed.
        await new Promise<void>((resolve) => void realTime.setTimer(REOPEN_MS, resolve));
      }
    }
  }

  async close(): Promise<void> {
    await this.#sending;
    this.#closeSockets();
  }

  #closeSockets(): void {
    this.#sockets?.publisher.close();
    this.#sockets?.router.close();
    this.#sockets = undefined;
  }

  async #serveReplays(router: Router): Promise<void> {
    try {
      for await (const [client, empty, start] of router) {
        if (client === undefined || empty === undefined || start?.length !== 8) continue;
        const from = Number(start.readBigUInt64BE());
        for (const { sequence, payload } of this.#sent.filter((batch) => batch.sequence >= from)) {
          await router.send([client, empty, numbered(sequence), payload]);
        }
        await router.send([client, empty, END_OF_REPLAY, Buffer.alloc(0)]);
      }
    } catch {
      // The socket is closed.
    }
  }
}

function numbered(sequence: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(sequence));
  return bytes;
}

async function bindTo(socket: Publisher | Router, endpoint: string): Promise<void> {
  try {
    await socket.bind(endpoint);
  } catch (error) {
    throw error instanceof Error ? new ListenError(endpoint, error) : error;
  }
}
