import type { PromptBlocks } from '../../framework/request.ts';
import type { AnswerBlocks } from './answer-blocks.ts';

/** Reasoning: templates drop it from the next turn, whose blocks then differ from these. */
const REASONING = /"reasoning(?:_content)?": ?"[^"]|"response\.reasoning/;
const THINKING = '<think>';

const [QUOTE, BACKSLASH, SPACE, NEWLINE] = [0x22, 0x5c, 0x20, 0x0a];
/** The first byte of `data:`. */
const FIRST_OF_EVENT = 0x64;
const JSON_TYPE = /json/i;
const JSON_OR_HTML = /json|text\/html/i;
const EVENT_STREAM = /event-stream/i;
const [OK, REDIRECTS] = [200, 300];
/** Their answers have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205];

/** `value`: behind the key. `escape`: behind a backslash. `rest`: behind an event's text. */
type State = 'outside' | 'value' | 'text' | 'escape' | 'rest' | 'given-up';

/**
 * Hashes a conversation's generated text while its chunks pass. Searches for the key only: a JSON
 * string cannot contain its quotes, so these bytes are always a key.
 */
export class AnswerText {
  readonly #blocks: AnswerBlocks;
  readonly #eventStream: boolean;
  readonly #key: Buffer;
  #state: State = 'outside';
  /** The key's offset in the last chunk: the events of an answer are equal up to their text. */
  #keyAt = 0;
  /** How many bytes of the key the last chunk ended with. */
  #keyBytes = 0;
  /** The start of the text, to detect `<think>`. */
  #opening = '';

  constructor(blocks: AnswerBlocks, { eventStream }: { readonly eventStream: boolean }) {
    this.#blocks = blocks;
    this.#eventStream = eventStream;
    const { whole, event } = blocks.keys;
    this.#key = Buffer.from(eventStream ? event : whole);
  }

  push(chunk: Buffer): void {
    if (this.#state === 'given-up') return;
    // In a stream, reasoning comes before the text.
    const mayReason = !this.#eventStream || this.#opening === '';
    if (mayReason && REASONING.test(chunk.toString('latin1'))) this.#state = 'given-up';
    let at = 0;
    while (at < chunk.length) {
      switch (this.#state) {
        case 'outside':
          at = this.#outside(chunk, at);
          break;
        case 'value':
          at = this.#value(chunk, at);
          break;
        case 'text':
        case 'escape':
          at = this.#text(chunk, at);
          break;
        case 'rest':
          at = this.#rest(chunk, at);
          break;
        case 'given-up':
          return;
      }
    }
  }

  /** Prompt and answer as one chain; undefined if the answer is incomplete or fills no block. */
  end(): PromptBlocks | undefined {
    const complete = this.#state === 'outside' || this.#state === 'rest';
    return complete ? this.#blocks.end() : undefined;
  }

  #outside(chunk: Buffer, start: number): number {
    if (this.#keyBytes > 0) return this.#cutKey(chunk, start);
    const found = this.#find(chunk, start);
    if (found < 0) {
      this.#keyBytes = keyBytesAtEnd(chunk, start, this.#key);
      return chunk.length;
    }
    if (start === 0) this.#keyAt = found;
    this.#state = 'value';
    return found + this.#key.length;
  }

  #find(chunk: Buffer, start: number): number {
    if (start === 0 && isKeyAt(chunk, this.#keyAt, this.#key)) return this.#keyAt;
    return chunk.length - start < this.#key.length ? -1 : chunk.indexOf(this.#key, start);
  }

  /** Continues a possible key that began in the last chunk. */
  #cutKey(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length && chunk[at] === this.#key[this.#keyBytes]) {
      at += 1;
      this.#keyBytes += 1;
    }
    if (this.#keyBytes === this.#key.length) this.#state = 'value';
    if (this.#keyBytes === this.#key.length || at < chunk.length) this.#keyBytes = 0;
    return at;
  }

  /** Only a string is text; null and arrays are not. */
  #value(chunk: Buffer, at: number): number {
    if (chunk[at] === SPACE) return at + 1;
    this.#state = chunk[at] === QUOTE ? 'text' : 'outside';
    return this.#state === 'text' ? at + 1 : at;
  }

  #text(chunk: Buffer, start: number): number {
    let at = start;
    if (this.#state === 'escape') {
      at += 1;
      this.#state = 'text';
    }
    while (at < chunk.length && chunk[at] !== QUOTE) at += chunk[at] === BACKSLASH ? 2 : 1;
    // The backslash was the last byte; the escaped character is in the next chunk.
    if (at > chunk.length) this.#state = 'escape';
    const end = Math.min(at, chunk.length);
    if (end > start) this.#hash(chunk.subarray(start, end));
    if (end === chunk.length) return end;
    if (this.#state !== 'given-up') this.#state = this.#eventStream ? 'rest' : 'outside';
    return end + 1;
  }

  /** A loop, as the rest of an event is too short for `indexOf` to pay. */
  #rest(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length && chunk[at] !== NEWLINE) at += 1;
    if (at < chunk.length) this.#state = 'outside';
    return at;
  }

  #hash(text: Buffer): void {
    if (this.#opening.length < THINKING.length) {
      this.#opening += text.toString('latin1', 0, THINKING.length - this.#opening.length);
      if (this.#opening === THINKING) {
        this.#state = 'given-up';
        return;
      }
    }
    this.#blocks.push(text);
  }
}

export interface AnswerHeaders {
  get(name: string): string | undefined;
}

/** Whether the content type of the answer is that of an event stream. */
export function saysEventStream(headers: AnswerHeaders): boolean {
  return EVENT_STREAM.test(headers.get('content-type') ?? '');
}

/** Whether the answer can be read without decompressing it. */
export function isUncompressed(headers: AnswerHeaders): boolean {
  return (headers.get('content-encoding') ?? 'identity') === 'identity';
}

/**
 * Whether the answer to a request of an API of JSON has to be JSON itself: by its type, as a page of
 * HTML, which such an API has no use for, or because it has no body at all, and no type.
 */
export function mustBeJson(status: number, headers: AnswerHeaders, isEmpty: boolean): boolean {
  const type = headers.get('content-type');
  if (status < OK || status >= REDIRECTS || WITHOUT_BODY.includes(status)) return false;
  return type === undefined ? isEmpty : JSON_OR_HTML.test(type);
}

/** A reader for a successful, uncompressed JSON or event-stream answer; undefined for others. */
export function answerTextFor(
  headers: AnswerHeaders,
  blocks: AnswerBlocks | undefined,
): AnswerText | undefined {
  if (blocks === undefined || headers.get(':status') !== '200') return undefined;
  if (!isUncompressed(headers)) return undefined;
  const eventStream = saysEventStream(headers);
  return eventStream || JSON_TYPE.test(headers.get('content-type') ?? '')
    ? new AnswerText(blocks, { eventStream })
    : undefined;
}

/** Only in a chunk that begins with an event: no other key can be before it. */
function isKeyAt(chunk: Buffer, at: number, key: Buffer): boolean {
  if (chunk[0] !== FIRST_OF_EVENT) return false;
  for (let index = 0; index < key.length; index++) {
    if (chunk[at + index] !== key[index]) return false;
  }
  return true;
}

/** How many bytes of the key the chunk ends with. */
function keyBytesAtEnd(chunk: Buffer, start: number, key: Buffer): number {
  for (let at = Math.max(start, chunk.length - key.length + 1); at < chunk.length; at++) {
    if (chunk[at] !== QUOTE) continue;
    let length = 1;
    while (at + length < chunk.length && chunk[at + length] === key[length]) length += 1;
    if (at + length === chunk.length) return length;
  }
  return 0;
}
