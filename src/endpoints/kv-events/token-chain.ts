/**
 * A chain's 64-bit key: equal keys mean equal tokens so far. The seed prevents chosen collisions.
 */
export class TokenChain {
  low = 0;
  high = 0;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed | 0;
  }

  /** Begins a chain. `root` sets it apart from chains of equal tokens: the adapter, or empty. */
  begin(root: string): void {
    this.low = finished(this.#seed);
    this.high = finished(this.#seed ^ 0x2545f491);
    if (root !== '') this.#addText(root);
  }

  /** Continues the chain that has this key. */
  continue(low: number, high: number): void {
    this.low = low;
    this.high = high;
  }

  /** Adds the block of `count` ids from index `from` on; `extra`, such as a salt, sets it apart. */
  add(ids: ArrayLike<number>, from: number, count: number, extra = ''): void {
    let low = this.low | 0;
    let high = this.high | 0;
    for (let at = from; at < from + count; at++) {
      const id = ids[at] as number;
      low = Math.imul(low ^ id, 0x85ebca6b);
      low = (low << 13) | (low >>> 19);
      high = (Math.imul(high ^ id, 0xc2b2ae35) + low) | 0;
    }
    this.low = finished(low ^ high);
    this.high = finished((high + Math.imul(low, 0x9e3779b1)) | 0);
    if (extra !== '') this.#addText(extra);
  }

  #addText(text: string): void {
    for (let index = 0; index < text.length; index++) {
      this.low = Math.imul(this.low ^ text.charCodeAt(index), 0x01000193);
      this.high = (Math.imul(this.high ^ text.charCodeAt(index), 0x85ebca6b) + this.low) | 0;
    }
    this.low = finished(this.low);
    this.high = finished(this.high);
  }
}

/** The keys of a prompt's full blocks: words 2i and 2i + 1 for block i. `salt` is in the first. */
export function chainKeys(
  chain: TokenChain,
  ids: ArrayLike<number>,
  {
    blockTokens,
    root,
    salt,
  }: { readonly blockTokens: number; readonly root: string; readonly salt: string },
): Uint32Array {
  const blocks = Math.floor(ids.length / blockTokens);
  const words = new Uint32Array(2 * blocks);
  chain.begin(root);
  for (let block = 0; block < blocks; block++) {
    chain.add(ids, block * blockTokens, blockTokens, block === 0 ? salt : '');
    words[2 * block] = chain.low;
    words[2 * block + 1] = chain.high;
  }
  return words;
}

function finished(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
