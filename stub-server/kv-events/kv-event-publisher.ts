import { Publisher, Router } from 'zeromq';
import { ListenError } from '../../src/runtime/network/listen.ts';
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
/** The sequence number that marks the end of a replay. */
const END_OF_REPLAY = Buffer.alloc(8, 0xff);

/**
 * Publishes a prefix cache's events as vLLM does: topic, sequence number (eight bytes, from 0),
 * batch in msgpack. Subscribers can request missed batches at the replay socket.
 */
export class KvEventPublisher {
  readonly #options: KvPublisherOptions;
  readonly #publisher: Publisher;
  readonly #router: Router;
  readonly #topic: Buffer;
  /** The last batches, oldest first. */
  readonly #sent: { readonly sequence: number; readonly payload: Uint8Array }[] = [];
  #sequence = 0;
  /** The send in progress: the socket accepts only one at a time. */
  #sending: Promise<void> = Promise.resolve();

  constructor(options: KvPublisherOptions) {
    this.#options = options;
    const { curve } = options;
    const keys = curve && { curveServer: true, curveSecretKey: curve.secretKey };
    this.#publisher = new Publisher({ sendHighWaterMark: HIGH_WATER_MARK, linger: 0, ...keys });
    this.#router = new Router({ linger: 0, ...keys });
    this.#topic = Buffer.from(options.topic, 'utf8');
  }

  async open(): Promise<void> {
    const { endpoint, replayEndpoint, bind } = this.#options;
    if (bind ?? /\*|::|^ipc:|^inproc:/.test(endpoint)) await bindTo(this.#publisher, endpoint);
    else this.#publisher.connect(endpoint);
    if (replayEndpoint === undefined) return;
    await bindTo(this.#router, replayEndpoint);
    void this.#serveReplays();
  }

  /** The bound or connected address. */
  get endpoint(): string {
    return this.#publisher.lastEndpoint ?? this.#options.endpoint;
  }

  get replayEndpoint(): string | undefined {
    return this.#router.lastEndpoint ?? undefined;
  }

  /** Sends a batch, unless it is empty. */
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
      .then(() => this.#publisher.send([this.#topic, numbered(sequence), payload]))
      .catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#sending;
    this.#publisher.close();
    this.#router.close();
  }

  async #serveReplays(): Promise<void> {
    try {
      for await (const [client, empty, start] of this.#router) {
        if (client === undefined || empty === undefined || start?.length !== 8) continue;
        const from = Number(start.readBigUInt64BE());
        for (const { sequence, payload } of this.#sent.filter((batch) => batch.sequence >= from)) {
          await this.#router.send([client, empty, numbered(sequence), payload]);
        }
        await this.#router.send([client, empty, END_OF_REPLAY, Buffer.alloc(0)]);
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
