import { type HashSecret, KeyedHash } from '../../../framework/values/keyed-hash.ts';

/** Sets a text behind a block apart from a block of two tokens. */
const EXTRA_TAG = 0x65787472;

/**
 * A chain's 64-bit key: equal keys mean equal tokens so far. It cannot be computed without the
 * secret.
 */
export class TokenChain {
  low = 0;
  high = 0;
  readonly hash: KeyedHash;
  #words = new Int32Array(64);

  constructor(secret: HashSecret) {
    this.hash = new KeyedHash(secret);
  }

  /** Begins a chain. `root` sets it apart from chains of equal tokens: the adapter, or empty. */
  begin(root: string): void {
    this.hash.text(root);
    this.#take();
  }

  /** Continues the chain that has this key. */
  continue(low: number, high: number): void {
    this.low = low;
    this.high = high;
  }

  /** Adds the block of `count` ids from index `from` on; `extra`, such as a salt, sets it apart. */
  add(ids: ArrayLike<number>, from: number, count: number, extra = ''): void {
    if (this.#words.length < count + 3) this.#words = new Int32Array(2 * count + 3);
    const words = this.#words;
    words[0] = this.low;
    words[1] = this.high;
    for (let at = 0; at < count; at++) words[2 + at] = ids[from + at] as number;
    words[2 + count] = count;
    this.hash.words(words, count + 3);
    this.#take();
    if (extra !== '') this.#addText(extra);
  }

  #addText(text: string): void {
    this.hash.text(text);
    const words = this.#words;
    words[0] = this.low;
    words[1] = this.high;
    words[2] = this.hash.low;
    words[3] = this.hash.high;
    words[4] = EXTRA_TAG;
    this.hash.words(words, 5);
    this.#take();
  }

  #take(): void {
    this.low = this.hash.low >>> 0;
    this.high = this.hash.high >>> 0;
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
