import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { input } from '../kernel/byte-kernel.ts';
import type { ContentBlocks } from '../prompts/content-blocks.ts';
import { MediaPlace } from '../prompts/media-place.ts';
import {
  type MediaKind,
  MediaPlaceholder,
  type PromptMedia,
} from '../prompts/media-placeholder.ts';
import type { ReferenceText } from '../prompts/reference-text.ts';
import { BillingNote } from './billing-note.ts';

const LINE_END = 0x0a;
const SEPARATOR: Uint8Array = Uint8Array.of(LINE_END);
const NO_BYTES = new Uint8Array(0);
/** Properties of message parts whose values are no prompt text. */
const LABEL_KEYS: ReadonlySet<string> = new Set(['type', 'cache_control', 'detail']);

interface TextParts {
  readonly hash: KeyedHash;
  readonly media: PromptMedia;
  /** Gets the strings in place of the blocks. */
  readonly reference: ReferenceText | undefined;
}

/**
 * Puts the strings of prompt fields into blocks: the role before the content, and a placeholder for
 * each medium.
 */
export class PromptText {
  /** Number of images, videos and sounds so far. */
  mediaItems = 0;

  readonly #parts: TextParts;
  readonly #note = new BillingNote();
  /** The blocks to which the strings of the current field are added. */
  #run: ContentBlocks | undefined;
  #isSystem = false;
  /** The latest property name, at any depth. */
  #key = '';
  /** The medium that is being read. */
  #medium: MediaPlaceholder | undefined;
  readonly #place = new MediaPlace();
  /** A message's content before its role has come, as templates put the role first. */
  #beforeRole = NO_BYTES;
  #beforeRoleBytes = 0;
  #roleSeen = true;

  constructor(parts: TextParts) {
    this.#parts = parts;
  }

  /** A top-level field begins; `run` is undefined if it is no part of the prompt. */
  field(name: string, run: ContentBlocks | undefined): void {
    this.#key = name;
    this.#run = run;
    this.#isSystem = name === 'system';
    this.#place.field(name);
  }

  /** A property name below a top-level field. */
  key(name: string, depth: number): void {
    this.#key = name;
    this.#place.key(name, depth);
  }

  beginMessage(): void {
    this.#roleSeen = false;
  }

  endMessage(): void {
    if (this.#beforeRoleBytes > 0) {
      this.#run?.push(this.#beforeRole.subarray(0, this.#beforeRoleBytes));
      this.#beforeRole = NO_BYTES;
      this.#beforeRoleBytes = 0;
    }
    this.#roleSeen = true;
  }

  /** A piece of a string of a prompt field, as it stands in the body. */
  push(from: number, to: number, last: boolean, depth: number): void {
    const { reference } = this.#parts;
    const run = this.#run;
    if (this.#key === 'type') this.#place.type(input.subarray(from, to), depth);
    const medium = depth > 1 ? this.#place.kindAt(depth) : undefined;
    if (reference !== undefined) {
      reference.string(input.subarray(from, to), last, depth);
      if (last && medium !== undefined && run !== undefined) this.mediaItems += 1;
      return;
    }
    if (run === undefined || (depth > 1 && LABEL_KEYS.has(this.#key))) return;
    const isSystemText = this.#isSystem && depth === 3 && this.#key === 'text';
    if (isSystemText && this.#note.leavesOut(run, from, to, last)) return;
    if (medium !== undefined) {
      this.#addMedium({ run, kind: medium }, input.subarray(from, to), last);
    } else if (this.#roleSeen) {
      run.pushInput(from, to);
      if (last) run.pushByte(LINE_END);
    } else this.#messageText(run, input.subarray(from, to), last, depth);
  }

  /** Text of a message, which is kept if the message's role has not come yet. */
  #messageText(run: ContentBlocks, text: Uint8Array, last: boolean, depth: number): void {
    if (this.#roleSeen) run.push(text);
    else if (this.#key === 'role' && depth === 3) {
      run.push(text);
      if (last) this.#roleSeen = true;
    } else this.#keepBeforeRole(text);
    if (last && this.#roleSeen) run.pushByte(LINE_END);
    else if (last) this.#keepBeforeRole(SEPARATOR);
  }

  #addMedium(
    { run, kind }: { readonly run: ContentBlocks; readonly kind: MediaKind },
    piece: Uint8Array,
    last: boolean,
  ): void {
    const { hash, media } = this.#parts;
    const medium = (this.#medium ??= new MediaPlaceholder(hash, kind));
    medium.push(piece);
    if (!last) return;
    this.#medium = undefined;
    this.mediaItems += 1;
    // Its property's name is that of a medium, at whichever depth.
    this.#messageText(run, medium.end(media), true, 0);
  }

  /** In one piece: a message may have millions of tiny parts. */
  #keepBeforeRole(text: Uint8Array): void {
    const bytes = this.#beforeRoleBytes + text.length;
    if (bytes > this.#beforeRole.length) {
      const longer = new Uint8Array(Math.max(bytes, 2 * this.#beforeRole.length));
      longer.set(this.#beforeRole.subarray(0, this.#beforeRoleBytes));
      this.#beforeRole = longer;
    }
    this.#beforeRole.set(text, this.#beforeRoleBytes);
    this.#beforeRoleBytes = bytes;
  }
}
