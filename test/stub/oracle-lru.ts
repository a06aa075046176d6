/** A block of memory and its content, if a request can find it. */
interface Block {
  readonly content: number | undefined;
}

/**
 * Paged memory with a prefix cache in the simplest form, to compare the engine's with, one request
 * at a time. The least recently used block is evicted first; of one request's blocks, the last one.
 */
export class OracleLru {
  /** Least recently used first. */
  readonly #order = new Set<Block>();
  readonly #byContent = new Map<number, Block[]>();

  constructor(blocks: number) {
    for (let count = 0; count < blocks; count++) this.#order.add({ content: undefined });
  }

  /** Serves a request with `contents` in full blocks and `others` more blocks. Returns the hits. */
  serve(
    contents: readonly number[],
    { others, findable }: { others: number; findable: number },
  ): number {
    const used: Block[] = [];
    while (used.length < findable) {
      const block = this.#byContent.get(contents[used.length] ?? Number.NaN)?.[0];
      if (block === undefined) break;
      used.push(block);
      this.#order.delete(block);
    }
    const hits = used.length;
    for (const content of [...contents.slice(hits), ...Array<undefined>(others)]) {
      this.#evict();
      const block = { content };
      if (content !== undefined)
        this.#byContent.set(content, [...(this.#byContent.get(content) ?? []), block]);
      used.push(block);
    }
    for (const block of used.reverse()) this.#order.add(block);
    return hits;
  }

  #evict(): void {
    const [oldest] = this.#order;
    if (oldest === undefined) throw new Error('the request is larger than the memory');
    this.#order.delete(oldest);
    const { content } = oldest;
    if (content === undefined) return;
    const left = (this.#byContent.get(content) ?? []).filter((block) => block !== oldest);
    if (left.length === 0) this.#byContent.delete(content);
    else this.#byContent.set(content, left);
  }
}
