import type { PromptBlocks } from '../../framework/request.ts';
import { BlockTable } from './block-table.ts';
import { withRoom } from './with-room.ts';

const NONE = -1;
const INITIAL_NODES = 256;

/** The blocks of one server, in the order in which they were sent there. */
interface Sent {
  newest: number;
  oldest: number;
  size: number;
  capacity: number;
}

/**
 * Which servers were sent which blocks, as the reference picker keeps it. A prompt's blocks are
 * sent from the first to the last, so that the first block of a server's oldest prompt is forgotten
 * first: other than in `EndpointBlocks`, a server can hold blocks whose predecessors it does not
 * hold. Therefore a look-up walks over the prompt, and over the servers that hold its blocks.
 *
 * 20 bytes for each block of each server, and 28 for each different block.
 */
export class SentBlocks {
  readonly #table = new BlockTable();
  /** By entry of the table: the first node of the block. For a free entry: the next free one. */
  #first = new Int32Array(INITIAL_NODES);
  #entries = 0;
  #freeEntry = NONE;
  /** A node is one block at one server. */
  #entryOf = new Int32Array(INITIAL_NODES);
  #serverOf = new Int32Array(INITIAL_NODES);
  /** The next server's node of the same block. For a free node: the next free one. */
  #next = new Int32Array(INITIAL_NODES);
  #older = new Int32Array(INITIAL_NODES);
  #newer = new Int32Array(INITIAL_NODES);
  #nodes = 0;
  #freeNode = NONE;
  /** By number, which the caller gives: small whole numbers. */
  readonly #servers: (Sent | undefined)[] = [];

  /** The blocks of the server. */
  size(server: number): number {
    return this.#servers[server]?.size ?? 0;
  }

  /** Sends the blocks to a server, of which it keeps the newest `capacity`, at least 1. */
  send(server: number, { count, words }: PromptBlocks, capacity: number): void {
    const sent = this.#sentTo(server, capacity);
    while (sent.size > sent.capacity) this.#forgetOldest(sent);
    for (let at = 0; at < 2 * count; at += 2) {
      const entry = this.#entry(words[at] as number, words[at + 1] as number);
      const node = this.#nodeAt(entry, server);
      if (node !== NONE) this.#unlink(sent, node);
      this.#link(sent, node === NONE ? this.#add(entry, server) : node);
      if (sent.size > sent.capacity) this.#forgetOldest(sent);
    }
  }

  /** Adds blocks as older than all that the server has, newest first, as far as there is room. */
  addOlder(server: number, words: Uint32Array, capacity: number): void {
    const sent = this.#sentTo(server, capacity);
    for (let at = 0; at + 1 < words.length && sent.size < sent.capacity; at += 2) {
      const entry = this.#entry(words[at] as number, words[at + 1] as number);
      if (this.#nodeAt(entry, server) === NONE) this.#linkOldest(sent, this.#add(entry, server));
    }
  }

  /** The words of the server's `count` newest blocks, newest first. */
  newest(server: number, count: number): Uint32Array {
    const sent = this.#servers[server];
    const words = new Uint32Array(2 * Math.min(count, sent?.size ?? 0));
    let node = sent?.newest ?? NONE;
    for (let at = 0; at < words.length; at += 2) {
      const entry = this.#entryOf[node] as number;
      words[at] = this.#table.low(entry);
      words[at + 1] = this.#table.high(entry);
      node = this.#older[node] as number;
    }
    return words;
  }

  /**
   * By server, how many of the prompt's blocks it holds, counted up to the first block that no
   * server holds.
   */
  matched({ count, words }: PromptBlocks): Int32Array {
    const counts = new Int32Array(this.#servers.length);
    for (let at = 0; at < 2 * count; at += 2) {
      const entry = this.#table.find(words[at] as number, words[at + 1] as number);
      if (entry === NONE) break;
      for (let node = this.#first[entry] as number; node !== NONE; ) {
        const server = this.#serverOf[node] as number;
        counts[server] = (counts[server] as number) + 1;
        node = this.#next[node] as number;
      }
    }
    return counts;
  }

  /** Forgets the oldest `blocksMax` blocks of a server. Returns whether it has none any more. */
  drop(server: number, blocksMax: number): boolean {
    const sent = this.#servers[server];
    if (sent === undefined) return true;
    for (let left = blocksMax; left > 0 && sent.size > 0; left--) this.#forgetOldest(sent);
    if (sent.size > 0) return false;
    this.#servers[server] = undefined;
    return true;
  }

  #sentTo(server: number, capacity: number): Sent {
    const sent = this.#servers[server] ?? { newest: NONE, oldest: NONE, size: 0, capacity };
    sent.capacity = Math.max(1, Math.floor(capacity));
    this.#servers[server] = sent;
    return sent;
  }

  /** The table's entry of a block, which it gets if it has none. */
  #entry(low: number, high: number): number {
    const known = this.#table.find(low, high);
    if (known !== NONE) return known;
    const entry = this.#freeEntry === NONE ? this.#entries++ : this.#freeEntry;
    if (entry === this.#first.length) this.#first = withRoom(this.#first, entry + 1);
    if (entry === this.#freeEntry) this.#freeEntry = this.#first[entry] as number;
    this.#first[entry] = NONE;
    this.#table.setKey(entry, low, high);
    this.#table.insert(entry);
    return entry;
  }

  #nodeAt(entry: number, server: number): number {
    let node = this.#first[entry] as number;
    while (node !== NONE && this.#serverOf[node] !== server) node = this.#next[node] as number;
    return node;
  }

  #add(entry: number, server: number): number {
    const node = this.#freeNode === NONE ? this.#nodes++ : this.#freeNode;
    if (node === this.#next.length) this.#grow();
    if (node === this.#freeNode) this.#freeNode = this.#next[node] as number;
    this.#entryOf[node] = entry;
    this.#serverOf[node] = server;
    this.#next[node] = this.#first[entry] as number;
    this.#first[entry] = node;
    return node;
  }

  #link(sent: Sent, node: number): void {
    this.#older[node] = sent.newest;
    this.#newer[node] = NONE;
    if (sent.newest === NONE) sent.oldest = node;
    else this.#newer[sent.newest] = node;
    sent.newest = node;
    sent.size += 1;
  }

  #linkOldest(sent: Sent, node: number): void {
    this.#newer[node] = sent.oldest;
    this.#older[node] = NONE;
    if (sent.oldest === NONE) sent.newest = node;
    else this.#older[sent.oldest] = node;
    sent.oldest = node;
    sent.size += 1;
  }

  #unlink(sent: Sent, node: number): void {
    const older = this.#older[node] as number;
    const newer = this.#newer[node] as number;
    if (older === NONE) sent.oldest = newer;
    else this.#newer[older] = newer;
    if (newer === NONE) sent.newest = older;
    else this.#older[newer] = older;
    sent.size -= 1;
  }

  #forgetOldest(sent: Sent): void {
    const node = sent.oldest;
    this.#unlink(sent, node);
    const entry = this.#entryOf[node] as number;
    const next = this.#next[node] as number;
    if (this.#first[entry] === node) this.#first[entry] = next;
    else {
      let before = this.#first[entry] as number;
      while (this.#next[before] !== node) before = this.#next[before] as number;
      this.#next[before] = next;
    }
    this.#next[node] = this.#freeNode;
    this.#freeNode = node;
    if (this.#first[entry] !== NONE) return;
    this.#table.remove(entry);
    this.#first[entry] = this.#freeEntry;
    this.#freeEntry = entry;
  }

  #grow(): void {
    const length = this.#next.length + 1;
    this.#entryOf = withRoom(this.#entryOf, length);
    this.#serverOf = withRoom(this.#serverOf, length);
    this.#next = withRoom(this.#next, length);
    this.#older = withRoom(this.#older, length);
    this.#newer = withRoom(this.#newer, length);
  }
}
