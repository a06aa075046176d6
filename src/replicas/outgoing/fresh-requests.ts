import { blockCount } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { TextTable } from '../messages/message.ts';
import { BLOCKS_MAX } from '../messages/prompt-words.ts';
import type { ByteWriter } from '../messages/wire.ts';
import { writeChange, writeRouted } from '../messages/write-entries.ts';
import type { OpenRequest } from './open-request.ts';

/** One entry without its prompt is shorter, but for its texts. */
const ENTRY_BYTES = 100;
const BLOCK_BYTES = 8;

/**
 * Requests that were placed since the last batch, and are not written yet. One that ends before the
 * batch is sent is written in one piece, so that the others need not reserve anything for it. What
 * is written is let go of: what lives for long is dear to collect.
 */
export class FreshRequests {
  readonly #entries: ByteWriter;
  readonly #texts: TextTable;
  readonly #requests: (OpenRequest | undefined)[] = [];
  #bytes = 0;

  constructor(entries: ByteWriter, texts: TextTable) {
    this.#entries = entries;
    this.#texts = texts;
  }

  /** About how long the entries will be that are not written. */
  get bytes(): number {
    return this.#bytes;
  }

  add(request: OpenRequest): void {
    request.freshAt = this.#requests.length;
    this.#requests.push(request);
    this.#bytes += bytesOf(request);
  }

  /** Writes it now, where it is not written: what follows is about it. */
  write(request: OpenRequest | undefined, origin: Millis): void {
    if (request?.freshAt === undefined) return;
    this.#requests[request.freshAt] = undefined;
    request.freshAt = undefined;
    this.#bytes -= bytesOf(request);
    const { routed, firstTokenAt } = request;
    const { number } = routed;
    const [entries, texts] = [this.#entries, this.#texts];
    const blocks = Number.POSITIVE_INFINITY;
    writeRouted(entries, texts, { routed, afterMs: routed.at - origin, blocks });
    if (firstTokenAt === undefined) return;
    const afterMs = firstTokenAt - origin;
    writeChange(entries, texts, { kind: 'first-token', number, afterMs, address: '' });
  }

  /** Writes those that are left. */
  writeAll(origin: Millis): void {
    for (const each of this.#requests) this.write(each, origin);
    this.clear();
  }

  /** Forgets those that are left: nothing is sent of them. */
  clear(): void {
    for (const each of this.#requests) if (each !== undefined) each.freshAt = undefined;
    this.#requests.length = 0;
    this.#bytes = 0;
  }
}

function bytesOf({ routed }: OpenRequest): number {
  return ENTRY_BYTES + BLOCK_BYTES * Math.min(blockCount(routed.request.prompt), BLOCKS_MAX);
}
