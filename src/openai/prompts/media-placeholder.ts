import type { KeyedHash } from '../../framework/keyed-hash.ts';
import { BYTES_PER_TOKEN, ContentBlocks, chainRuns } from './content-blocks.ts';

/** For each image, video and sound: the reference's 640 × 360 image, 1,024 pixels a token. */
const TOKENS = 225;
const ROOT = 'media';

// Filled and read in one synchronous call.
const words = new Uint32Array((TOKENS * BYTES_PER_TOKEN) / 4);
const bytes = new Uint8Array(words.buffer);

/**
 * Stands for one medium in the text of a prompt: as long as its tokens, and different for other
 * content. The bytes of the medium itself say nothing about how many tokens it takes, so they would
 * put all text behind it at the wrong place.
 */
export class MediaPlaceholder {
  readonly #hash: KeyedHash;
  readonly #content: ContentBlocks;

  constructor(hash: KeyedHash) {
    this.#hash = hash;
    this.#content = new ContentBlocks(hash, 0);
  }

  /** Adds a piece of the medium's content or URL. */
  push(piece: Uint8Array): void {
    this.#content.push(piece);
  }

  /** The bytes in its place. Valid only until the next call of any placeholder. */
  end(): Uint8Array {
    this.#content.flush();
    const { words: hashes } = chainRuns([this.#content], ROOT, this.#hash);
    const [low = 0, high = 0] = hashes.subarray(-2);
    for (let at = 0; at < words.length; at++) words[at] = at % 2 === 0 ? low : high;
    return bytes;
  }
}
