import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { Observer, PrefixSharing } from '../../framework/observer.ts';
import type { Clock, Timer } from '../../framework/runtime.ts';
import type { ByteReader, ByteWriter } from '../messages/wire.ts';

export interface PrefixExchangeOptions {
  readonly clock: Clock;
  readonly endpoints: () => readonly Endpoint[];
  readonly endpoint: (id: EndpointId) => Endpoint | undefined;
  /** The indexes of prompts: the same at all replicas of one configuration. */
  readonly indexes: () => readonly PrefixSharing[];
  /** False where it cannot be sent now. */
  readonly send: (to: string, write: (writer: ByteWriter) => void) => boolean;
}

/**
 * The most blocks of all endpoints together: 32 MB. In larger pools each endpoint gets its share.
 */
const BLOCKS_MAX = 4_000_000;
/** The most blocks of one endpoint: eight million tokens, and some milliseconds to list. */
const ENDPOINT_BLOCKS_MAX = 131_072;
/** One message has at most so many: 96 KB. */
const MESSAGE_BLOCKS = 12_288;
/** What is sent at once, and the pause after it: requests must not wait for it. */
const BURST_BLOCKS = 32_768;
const PAUSE_MS = 5;
/**
 * What all replicas together get in a minute: some full indexes. Who asks beyond it starts cold.
 */
const MINUTE_BLOCKS_MAX = 4 * BLOCKS_MAX;
const MINUTE_MS = 60_000;
/** Pauses while nothing can be sent, until the rest is given up. */
const RETRIES_MAX = 1000;
const ID_UNITS_MAX = 512;

interface Part {
  readonly index: number;
  readonly endpoint: Endpoint;
}

/** Sends what is known of prompts to a replica that has just come, and takes it in. */
export class PrefixExchange {
  readonly #options: PrefixExchangeOptions;
  /** By the replica that gets them. */
  readonly #sending = new Map<string, Timer | undefined>();
  #minuteBeganAt = Number.NEGATIVE_INFINITY;
  #minuteBlocks = 0;

  constructor(options: PrefixExchangeOptions) {
    this.#options = options;
  }

  /** Blocks in all indexes. */
  held(): number {
    const { endpoints, indexes } = this.#options;
    let held = 0;
    for (const index of indexes()) for (const endpoint of endpoints()) held += index.size(endpoint);
    return held;
  }

  /**
   * Begins to send all that is known. Without effect before the end of what was begun, and where
   * too much was sent lately.
   */
  sendTo(to: string): void {
    if (this.#sending.has(to) || this.#isBusy()) return;
    const { endpoints, indexes } = this.#options;
    const all = endpoints();
    const parts = indexes().flatMap((_, index) => all.map((endpoint) => ({ index, endpoint })));
    const blocksMax = Math.floor(BLOCKS_MAX / Math.max(1, parts.length));
    const messages = this.#messages(parts, Math.min(blocksMax, ENDPOINT_BLOCKS_MAX));
    this.#burst(to, { messages, next: undefined, retries: 0 });
  }

  /** Takes in what `sendTo` has sent. Returns the number of blocks. Throws WireError. */
  take(reader: ByteReader): number {
    const index = this.#options.indexes()[reader.number()];
    const id = reader.text(ID_UNITS_MAX) as EndpointId;
    const words = reader.hashes(MESSAGE_BLOCKS);
    const endpoint = this.#options.endpoint(id);
    if (index === undefined || endpoint === undefined) return 0;
    index.addOlderBlocks(endpoint, words);
    return words.length / 2;
  }

  stop(): void {
    for (const timer of this.#sending.values()) timer?.cancel();
    this.#sending.clear();
  }

  #isBusy(): boolean {
    const now = this.#options.clock.now();
    if (now - this.#minuteBeganAt >= MINUTE_MS) {
      this.#minuteBeganAt = now;
      this.#minuteBlocks = 0;
    }
    return this.#minuteBlocks >= MINUTE_BLOCKS_MAX;
  }

  #burst(to: string, state: Sending): void {
    let blocks = 0;
    while (blocks < BURST_BLOCKS) {
      state.next ??= state.messages.next().value ?? undefined;
      const { next } = state;
      if (next === undefined || state.retries > RETRIES_MAX) {
        this.#sending.delete(to);
        return;
      }
      if (!this.#options.send(to, next.write)) {
        state.retries += 1;
        break;
      }
      blocks += next.blocks;
      this.#minuteBlocks += next.blocks;
      state.next = undefined;
    }
    const { clock } = this.#options;
    // Several get it as fast as one would.
    const pauseMs = PAUSE_MS * Math.max(1, this.#sending.size);
    this.#sending.set(
      to,
      clock.setTimer(pauseMs, () => this.#burst(to, state)),
    );
  }

  *#messages(parts: readonly Part[], blocksMax: number): Generator<PrefixMessage, void> {
    for (const { index, endpoint } of parts) {
      const words = this.#options.indexes()[index]?.heldBlocks(endpoint, blocksMax);
      const count = (words?.length ?? 0) / 2;
      for (let from = 0; from < count; from += MESSAGE_BLOCKS) {
        const to = Math.min(count, from + MESSAGE_BLOCKS);
        yield {
          blocks: to - from,
          write: (writer) => {
            writer.number(index);
            writer.text(endpoint.id);
            writer.hashes(words as Uint32Array, from, to);
          },
        };
      }
    }
  }
}

interface PrefixMessage {
  readonly blocks: number;
  readonly write: (writer: ByteWriter) => void;
}

interface Sending {
  readonly messages: Iterator<PrefixMessage, void>;
  /** What is not sent yet. */
  next: PrefixMessage | undefined;
  retries: number;
}

/** Whether a plugin can share what it knows of prompts. */
export function isPrefixSharing(observer: Observer): observer is Observer & PrefixSharing {
  return 'addOlderBlocks' in observer && 'heldBlocks' in observer;
}
