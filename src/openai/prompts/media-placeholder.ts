import { DEFAULT_MEDIA, type MediaEstimate } from '../../framework/prompt-reading.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { chainRuns } from './block-chain.ts';
import { BYTES_PER_TOKEN, ContentBlocks } from './content-blocks.ts';
import { ImageSize } from './image-size.ts';
import { audioTokens, imageTokens, videoTokens } from './media-estimate.ts';
import { WAV_HEAD_BYTES, wavSeconds } from './wav-seconds.ts';

/** What a field of a message's part holds. Nothing is known about a sound behind a link. */
export type MediaKind = 'image' | 'video' | 'audio' | 'audio link' | 'file';

/** By the field that holds it, or that holds the object with it. */
export const MEDIA_KINDS: ReadonlyMap<string, MediaKind> = new Map([
  ['image_url', 'image'],
  ['source', 'image'],
  ['video_url', 'video'],
  ['input_audio', 'audio'],
  ['audio_url', 'audio link'],
  ['file_data', 'file'],
]);

/** As long as the longest prompts are. Headers may say that a video behind a link is huge. */
const TOKENS_MAX = 262_144;
const FILE_TOKENS = 225;
/** What a PNG of one bit a pixel can hold: DEFLATE makes data at most 1,032 times shorter. */
const PIXELS_PER_BYTE_MAX = 8 * 1032;
const ROOT = 'media';
/** Where base64 begins in a data URL, and how far that may be from its beginning. */
const [DATA_URL, BASE64, PREFIX_MAX] = ['data:', 'base64,', 256];
const HEAD_MAX = PREFIX_MAX + WAV_HEAD_BYTES * 2;

// Filled and read in one synchronous call.
let words = new Uint32Array(1024);

/** The media of one prompt: how they are counted, and what is left for more of them. */
export class PromptMedia {
  readonly #estimate: MediaEstimate;
  readonly #headers: ReadonlyMap<string, string>;
  #tokensLeft = TOKENS_MAX;

  constructor(
    estimate: MediaEstimate = DEFAULT_MEDIA,
    headers: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#estimate = estimate;
    this.#headers = headers;
  }

  /** The tokens of one medium, of which `content` has seen all. At least 1. */
  tokensOf(kind: MediaKind, content: SeenContent): number {
    const tokens = Math.min(this.#tokens(kind, content), Math.max(1, this.#tokensLeft));
    this.#tokensLeft -= tokens;
    return tokens;
  }

  #tokens(kind: MediaKind, content: SeenContent): number {
    if (kind === 'image') return imageTokens(this.#estimate, content.imageSize());
    if (kind === 'video') return videoTokens(this.#estimate, this.#headers);
    if (kind === 'file') return FILE_TOKENS;
    const sound = kind === 'audio' ? content.sound() : {};
    return audioTokens(this.#estimate, this.#headers, sound);
  }
}

/** What the text of a medium says about its size. */
class SeenContent {
  readonly #image: ImageSize | undefined;
  #isInBase64 = false;
  #bytes = 0;
  /** The beginning of the text. */
  #head = '';

  constructor(kind: MediaKind) {
    this.#image = kind === 'image' ? new ImageSize() : undefined;
  }

  push(piece: Uint8Array): void {
    if (this.#isInBase64) this.#image?.push(piece);
    const before = this.#bytes;
    this.#bytes += piece.length;
    if (this.#head.length >= HEAD_MAX) return;
    this.#head += Buffer.from(piece.subarray(0, HEAD_MAX - this.#head.length)).toString('latin1');
    if (this.#isInBase64 || this.#image === undefined) return;
    const from = this.#prefixLength();
    if (from === undefined || this.#bytes <= from) return;
    this.#isInBase64 = true;
    // A prefix may have come in several pieces.
    if (before > from) this.#image.push(Buffer.from(this.#head.slice(from, before), 'latin1'));
    this.#image.push(piece.subarray(Math.max(0, from - before)));
  }

  /** Undefined also where an image says that it is larger than its bytes can be. */
  imageSize(): ImageSize['size'] {
    this.#image?.end();
    const size = this.#image?.size;
    if (size === undefined) return undefined;
    return size.width * size.height > this.#contentBytes() * PIXELS_PER_BYTE_MAX ? undefined : size;
  }

  sound(): Parameters<typeof audioTokens>[2] {
    const text = this.#head.slice(this.#prefixLength() ?? 0).replaceAll('\\', '');
    const bytes = this.#contentBytes();
    const seconds = wavSeconds(Buffer.from(text, 'base64'), bytes);
    return { bytes, wavSeconds: seconds };
  }

  #contentBytes(): number {
    return Math.floor(((this.#bytes - (this.#prefixLength() ?? 0)) * 3) / 4);
  }

  /** The characters before the base64 text; undefined where it has not begun. */
  #prefixLength(): number | undefined {
    const head = this.#head.slice(0, PREFIX_MAX);
    if (!head.startsWith(DATA_URL.slice(0, head.length)) && !head.startsWith(DATA_URL)) return 0;
    const at = head.indexOf(BASE64);
    return at < 0 ? undefined : at + BASE64.length;
  }
}

/**
 * Stands for one medium in the text of a prompt: as long as its tokens, and different for other
 * content. The bytes of the medium itself say nothing about how many tokens it takes, so they would
 * put all text behind it at the wrong place.
 */
export class MediaPlaceholder {
  readonly #hash: KeyedHash;
  readonly #kind: MediaKind;
  readonly #content: ContentBlocks;
  readonly #seen: SeenContent;

  constructor(hash: KeyedHash, kind: MediaKind) {
    this.#hash = hash;
    this.#kind = kind;
    this.#content = new ContentBlocks(hash, 0);
    this.#seen = new SeenContent(kind);
  }

  /** Adds a piece of the medium's content or URL. */
  push(piece: Uint8Array): void {
    this.#content.push(piece);
    this.#seen.push(piece);
  }

  /** The bytes in its place. Valid only until the next call of any placeholder. */
  end(media: PromptMedia): Uint8Array {
    this.#content.flush();
    const { words: hashes } = chainRuns([this.#content], ROOT, this.#hash);
    const [low = 0, high = 0] = hashes.subarray(-2);
    const tokens = media.tokensOf(this.#kind, this.#seen);
    if (tokens > words.length) words = new Uint32Array(tokens);
    for (let at = 0; at < tokens; at++) words[at] = at % 2 === 0 ? low : high;
    return new Uint8Array(words.buffer, 0, tokens * BYTES_PER_TOKEN);
  }
}
