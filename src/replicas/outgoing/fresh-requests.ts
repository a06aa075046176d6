import { blockCount } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { TextTable } from '../messages/message.ts';
import { BLOCKS_MAX } from '../messages/prompt-words.ts';
import type { ByteWriter } from '../messages/wire.ts';
import { writeChange, writeDone, writeRouted } from '../messages/write-entries.ts';
import type { OpenRequest } from './open-request.ts';

/** One entry without its prompt is shorter, but for its texts. */
const ENTRY_BYTES = 100;
const BLOCK_BYTES = 8;

/**
 * Requests that were placed since the last batch, and are not written yet. One that ends before the
 * batch is sent is written in one piece, so that the others need not reserve anything for it.
 */
export class FreshRequests {
  readonly #entries: ByteWriter;
  readonly #texts: TextTable;
  #requests: OpenRequest[] = [];
  #bytes = 0;

  constructor(entries: ByteWriter, texts: TextTable) {
    this.#entries = entries;
    this.#texts = texts;
  }

  /** About how long their entries will be. */
  get bytes(): number {
    return this.#bytes;
  }

  add(request: OpenRequest): void {
    request.isFresh = true;
    this.#requests.push(request);
    const blocks = Math.min(blockCount(request.routed.request.prompt), BLOCKS_MAX);
    this.#bytes += ENTRY_BYTES + BLOCK_BYTES * blocks;
  }

  /** Writes it now, where it is not written: what follows is about it. */
  write(request: OpenRequest | undefined, origin: Millis): void {
    if (request?.isFresh !== true) return;
    request.isFresh = false;
    const { routed, firstTokenAt, end } = request;
    const { number } = routed;
    const [entries, texts] = [this.#entries, this.#texts];
    const blocks = Number.POSITIVE_INFINITY;
    writeRouted(entries, texts, { routed, afterMs: routed.at - origin, blocks });
    if (firstTokenAt !== undefined) {
      const afterMs = firstTokenAt - origin;
      writeChange(entries, texts, { kind: 'first-token', number, afterMs, address: '' });
    }
    if (end === undefined) return;
    const { at, outcome, usage } = end;
    writeDone(entries, { number, afterMs: at - origin, outcome, usage });
  }

  /** Writes those that are left. */
  writeAll(origin: Millis): void {
    for (const each of this.#requests) this.write(each, origin);
    this.#requests.length = 0;
    this.#bytes = 0;
  }

  /** Forgets those that are left: nothing is sent of them. */
  clear(): void {
    for (const each of this.#requests) each.isFresh = false;
    this.#requests.length = 0;
    this.#bytes = 0;
  }
}
