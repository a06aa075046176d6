import { TEXTS_MAX } from '../../framework/request.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { BYTES_PER_TOKEN, ContentBlocks } from './content-blocks.ts';
import { GoJson } from './go-json.ts';
import { MEDIA_KINDS, MediaPlaceholder, type PromptMedia } from './media-placeholder.ts';
import type { ReferencePart } from './request-shape.ts';
import { StringDecoder } from './string-decoder.ts';
import { TextBuffer } from './text-buffer.ts';

/** Fields of a part of a message's content that are text. */
const TEXT_KEYS: ReadonlySet<string> = new Set(['text', 'thinking', 'id', 'name', 'content']);
/** Parts in which numbers are token ids. */
const IDS_IN: ReadonlySet<string | undefined> = new Set(['text', 'embedding']);
const [BRACE, BRACE_END, BRACKET] = [0x7b, 0x7d, 0x5b];
const BILLING_NOTE = Buffer.from('x-anthropic-billing-header');
const NULL = Buffer.from('null');
const NO_LIST = Buffer.from('[]');

/** Depths: a field's own value has 1, as the body's brace counts; a message's fields have 3. */
const [FIELD, MESSAGE, PART, MEDIUM] = [1, 3, 5, 6];

/**
 * The text of a prompt as the reference picker cuts it into blocks: strings decoded, nothing
 * between them, tools before messages wherever they stand in the body. Therefore it is kept to the
 * end.
 */
export class ReferenceText {
  readonly #hash: KeyedHash;
  readonly #media: PromptMedia;
  readonly #parts: readonly ReferencePart[];
  readonly #texts: readonly TextBuffer[];
  readonly #decoder = new StringDecoder((text) => {
    if (this.#json === undefined) this.#text?.push(text);
    else this.#json.text(text);
  });
  /** How the field is used that is being read. */
  #part: ReferencePart | undefined;
  #text: TextBuffer | undefined;
  #json: GoJson | undefined;
  /** The depth at which JSON began. */
  #jsonDepth = 0;
  /** The latest property name at each depth. */
  readonly #keys: string[] = [];
  #medium: MediaPlaceholder | undefined;
  readonly #mediumText = new StringDecoder((text) => this.#medium?.push(text));
  /** Where the text of the message, and of the string, begins. */
  #messageFrom = 0;
  #stringFrom = -1;
  /** Where the texts of a list begin that stand behind the first. */
  #begins: number[] = [];

  constructor(
    parts: readonly ReferencePart[],
    { hash, media }: { readonly hash: KeyedHash; readonly media: PromptMedia },
  ) {
    this.#parts = parts;
    this.#hash = hash;
    this.#media = media;
    this.#texts = parts.map(() => new TextBuffer());
  }

  /** All text so far, in blocks. */
  run(): ContentBlocks {
    const run = new ContentBlocks(this.#hash, 0);
    const present = this.#parts.flatMap((part, index) => {
      const text = this.#texts[index]?.text ?? NULL;
      return text.length === 0 || isNothing(text) ? [] : [{ part, text }];
    });
    present.forEach(({ part: { field, isNamed }, text }, index) => {
      if (isNamed) run.push(Buffer.from(`${index === 0 ? '[' : ','}{"${field}":`));
      this.#pushTexts(run, text);
      if (isNamed) run.push(Buffer.from(index === present.length - 1 ? '}]' : '}'));
    });
    fillToken(run);
    return run;
  }

  /** What follows is the next text of a list. */
  beginText(): void {
    if (this.#text === undefined || this.#part?.as !== 'text') return;
    if (this.#begins.length < TEXTS_MAX - 1) this.#begins.push(this.#text.length);
  }

  key(name: string, depth: number): void {
    this.#keys[depth] = name;
    if (depth > FIELD) {
      this.#json?.key(name);
      return;
    }
    const index = this.#parts.findIndex(({ field }) => field === name);
    this.#part = this.#parts[index];
    this.#text = this.#texts[index];
    // Where a field is repeated, the last one counts.
    this.#text?.cut(0);
    if (this.#text !== undefined) this.#begins = [];
  }

  /** `depth` is that of the container itself. */
  begin(bracket: number, depth: number): void {
    if (this.#text === undefined) return;
    const isInput = this.#part?.as === 'messages' && this.#isPart('input', depth);
    if (this.#json === undefined && (isInput || (depth === FIELD && this.#part?.as === 'json'))) {
      this.#json = new GoJson(this.#text);
      this.#jsonDepth = depth;
    }
    this.#json?.begin(bracket);
    if (depth === MESSAGE - 1) this.#messageFrom = this.#text.length;
  }

  end(bracket: number, depth: number): void {
    this.#json?.end(bracket);
    if (depth !== this.#jsonDepth) return;
    if (this.#part?.as === 'embedding') this.#endEmbedding(depth);
    this.#json = undefined;
  }

  string(piece: Uint8Array, last: boolean, depth: number): void {
    const text = this.#text;
    if (text === undefined) return;
    if (this.#json === undefined && this.#isMedium(depth)) {
      this.#addMedium(text, piece, last);
      return;
    }
    const isField = depth === FIELD && this.#part?.as === 'json';
    if (isField && this.#stringFrom < 0) this.#json = new GoJson(text);
    const isEmbedding = this.#part?.as === 'embedding';
    if (isEmbedding && this.#json === undefined) this.#beginEmbedding(text, depth);
    if (this.#json === undefined && !this.#isText(depth)) return;
    if (this.#stringFrom < 0) {
      this.#stringFrom = text.length;
      this.#json?.beginString();
    }
    this.#decoder.push(piece, last);
    if (last) this.#endString(text, depth);
    if (!last || depth !== FIELD) return;
    if (isEmbedding) this.#endEmbedding(depth + 1);
    if (isField || isEmbedding) this.#json = undefined;
  }

  integer(value: number, depth: number): void {
    if (this.#json !== undefined) this.#json.scalar(String(value));
    else if (depth > FIELD && IDS_IN.has(this.#part?.as)) this.#pushId(value);
  }

  scalar(text: string): void {
    this.#json?.scalar(text);
  }

  /** As Go writes the struct, whose first field is one text and whose second is a list of them. */
  #beginEmbedding(text: TextBuffer, depth: number): void {
    this.#json = new GoJson(text);
    this.#jsonDepth = FIELD;
    this.#json.begin(BRACE);
    this.#json.key('Raw');
    if (depth === FIELD) return;
    this.#json.beginString();
    this.#json.endString();
    this.#json.key('Strings');
    this.#json.begin(BRACKET);
  }

  /** `depth`: that of a list, or one more for a text. */
  #endEmbedding(depth: number): void {
    for (const name of depth === FIELD ? ['TokenIDs'] : ['Strings', 'TokenIDs']) {
      this.#json?.key(name);
      this.#json?.scalar('null');
    }
    this.#json?.end(BRACE_END);
  }

  #endString(text: TextBuffer, depth: number): void {
    const from = this.#stringFrom;
    this.#stringFrom = -1;
    if (this.#json !== undefined) this.#json.endString();
    else if (this.#part?.as === 'messages') {
      const isRole = depth === MESSAGE && this.#keys[MESSAGE] === 'role';
      if (isRole && from > this.#messageFrom) text.moveBack(from, this.#messageFrom);
    } else if (depth > FIELD && beginsWith(text.text.subarray(from), BILLING_NOTE)) text.cut(from);
  }

  #pushTexts(run: ContentBlocks, text: Uint8Array): void {
    let from = 0;
    for (const to of this.#begins) {
      run.push(text.subarray(from, to));
      fillToken(run);
      run.beginText();
      from = to;
    }
    run.push(text.subarray(from));
  }

  #isText(depth: number): boolean {
    if (this.#part?.as === 'text') return depth !== MESSAGE || this.#keys[MESSAGE] === 'text';
    const key = this.#keys[depth] ?? '';
    if (depth === MESSAGE) return key === 'role' || key === 'content';
    if (this.#keys[MESSAGE] !== 'content') return false;
    if (depth === PART) return TEXT_KEYS.has(key);
    return depth === PART + 2 && key === 'text';
  }

  #isPart(key: string, depth: number): boolean {
    return depth === PART && this.#keys[PART] === key && this.#keys[MESSAGE] === 'content';
  }

  #isMedium(depth: number): boolean {
    if (this.#part?.as !== 'messages' || this.#keys[MESSAGE] !== 'content') return false;
    const key = this.#keys[depth] ?? '';
    if (depth === PART) return key === 'image_url';
    const names = depth === MEDIUM && MEDIA_KINDS.has(this.#keys[PART] ?? '');
    return names && (key === 'url' || key === 'data');
  }

  #addMedium(text: TextBuffer, piece: Uint8Array, last: boolean): void {
    const kind = MEDIA_KINDS.get(this.#keys[PART] ?? '') ?? 'image';
    this.#medium ??= new MediaPlaceholder(this.#hash, kind);
    this.#mediumText.push(piece, last);
    if (!last) return;
    while (text.length % BYTES_PER_TOKEN !== 0) text.pushByte(0);
    text.push(this.#medium.end(this.#media));
    this.#medium = undefined;
  }

  #pushId(id: number): void {
    for (let shift = 0; shift < 32; shift += 8) this.#text?.pushByte((id >>> shift) & 0xff);
  }
}

/** Whole tokens, as the reference fills the last one up. */
function fillToken(run: ContentBlocks): void {
  for (let rest = run.bytes % BYTES_PER_TOKEN; rest > 0 && rest < BYTES_PER_TOKEN; rest++) {
    run.pushByte(0);
  }
}

/** What the reference takes for a field that is not there. */
function isNothing(text: Uint8Array): boolean {
  return NULL.equals(text) || NO_LIST.equals(text);
}

function beginsWith(text: Uint8Array, beginning: Uint8Array): boolean {
  return Buffer.compare(text.subarray(0, beginning.length), beginning) === 0;
}
