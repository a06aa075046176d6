import { Publisher, Router } from 'zeromq';
import { ListenError } from '../../src/runtime/listen-error.ts';
import { encodeBatch } from './encode-batch.ts';
import type { KvEvent, KvEventFormat } from './kv-event.ts';

export interface KvPublisherOptions {
  /** vLLM's rule: bound when it has a `*`, `::`, ipc or inproc, connected to otherwise. */
  readonly endpoint: string;
  /** Whether to bind or to connect, where vLLM's rule is not meant. */
  readonly bind?: boolean;
  /** Where batches can be asked for again; bound. None when left out. */
  readonly replayEndpoint?: string | undefined;
  readonly topic: string;
  readonly format: KvEventFormat;
  readonly dataParallelRank: number;
  /** Seconds since the epoch. */
  readonly wallSeconds: () => number;
}

/** vLLM's defaults. */
const HIGH_WATER_MARK = 100_000;
const REPLAY_BATCHES = 10_000;
/** Ends a replay: a sequence number no batch has. */
const END_OF_REPLAY = Buffer.alloc(8, 0xff);

/**
 * Publishes what a prefix cache does, as vLLM does: topic, a sequence number of eight bytes from 0, and a msgpack batch.
 * Who missed some asks for them again at the replay socket.
 */
export class KvEventPublisher {
  readonly #options: KvPublisherOptions;
  readonly #publisher = new Publisher({ sendHighWaterMark: HIGH_WATER_MARK, linger: 0 });
  readonly #router = new Router({ linger: 0 });
  readonly #topic: Buffer;
  /** Batches of the last sequence numbers, oldest first. */
  readonly #sent: { readonly sequence: number; readonly payload: Uint8Array }[] = [];
  #sequence = 0;
  /** One send at a time: the socket takes no second before the first is through. */
  #sending: Promise<void> = Promise.resolve();

  constructor(options: KvPublisherOptions) {
    this.#options = options;
    this.#topic = Buffer.from(options.topic, 'utf8');
  }

  async open(): Promise<void> {
    const {
      endpoint,
      replayEndpoint,
      bind = /\*|::|^ipc:|^inproc:/.test(endpoint),
    } = this.#options;
    if (bind) await bindTo(this.#publisher, endpoint);
    else this.#publisher.connect(endpoint);
    if (replayEndpoint === undefined) return;
    await bindTo(this.#router, replayEndpoint);
    void this.#serveReplays();
  }

  /** The address that is bound or connected to. */
  get endpoint(): string {
    return this.#publisher.lastEndpoint ?? this.#options.endpoint;
  }

  get replayEndpoint(): string | undefined {
    return this.#router.lastEndpoint ?? undefined;
  }

  /** Sends a batch; none when there is nothing in it. */
  publish(events: readonly KvEvent[]): void {
    if (events.length === 0) return;
    const { format, dataParallelRank, wallSeconds } = this.#options;
    const batch = { timestampS: wallSeconds(), events, dataParallelRank };
    const payload = encodeBatch(batch, format);
    const sequence = this.#sequence;
    this.#sequence += 1;
    this.#sent.push({ sequence, payload });
    if (this.#sent.length > REPLAY_BATCHES) this.#sent.shift();
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
      // Closed.
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
