import type { PromptBlocks } from '../framework/request.ts';
import type { AnswerBlocks } from './answer-blocks.ts';

/** Its quotes cannot stand in a JSON string, so wherever these bytes are they are a key, or a string before a colon. */
const KEY = Buffer.from('"content":');
/** A model that thinks aloud: templates leave that out of the next turn, so the answer is not where it was generated. */
const REASONING = /"reasoning(?:_content)?": ?"[^"]/;
const THINKING = '<think>';

const [QUOTE, BACKSLASH, SPACE, NEWLINE] = [0x22, 0x5c, 0x20, 0x0a];
/** Of `data:`. */
const FIRST_OF_EVENT = 0x64;
const JSON_TYPE = /json/i;
const EVENT_STREAM = /event-stream/i;

/** `value`: behind the key. `escape`: behind a backslash in the text. `rest`: of an event that has said its text.
 * `given-up`: nothing more is learned. */
type State = 'outside' | 'value' | 'text' | 'escape' | 'rest' | 'given-up';

/**
 * Finds the generated text in a chat's answer while it passes, whole or as server-sent events and however it is cut, and
 * has it hashed. Looks at no more of it than for its key, and keeps nothing.
 */
export class AnswerText {
  readonly #blocks: AnswerBlocks;
  readonly #eventStream: boolean;
  #state: State = 'outside';
  /** Where the key stood in the last chunk: events of one answer are alike up to their text. */
  #keyAt = 0;
  /** Bytes of the key that the last chunk ended with. */
  #keyBytes = 0;
  /** The first of the text, as far as it could be a thought. */
  #opening = '';

  constructor(blocks: AnswerBlocks, { eventStream }: { readonly eventStream: boolean }) {
    this.#blocks = blocks;
    this.#eventStream = eventStream;
  }

  push(chunk: Buffer): void {
    if (this.#state === 'given-up') return;
    // In a stream thoughts come first.
    const maySayThoughts = !this.#eventStream || this.#opening === '';
    if (maySayThoughts && REASONING.test(chunk.toString('latin1'))) this.#state = 'given-up';
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

  /** Prompt and answer as one chain; undefined where nothing was answered that fills a block. */
  end(): PromptBlocks | undefined {
    const complete = this.#state === 'outside' || this.#state === 'rest';
    return complete ? this.#blocks.end() : undefined;
  }

  #outside(chunk: Buffer, start: number): number {
    if (this.#keyBytes > 0) return this.#cutKey(chunk, start);
    const found = this.#find(chunk, start);
    if (found < 0) {
      this.#keyBytes = keyBytesAtEnd(chunk, start);
      return chunk.length;
    }
    if (start === 0) this.#keyAt = found;
    this.#state = 'value';
    return found + KEY.length;
  }

  #find(chunk: Buffer, start: number): number {
    if (start === 0 && isKeyAt(chunk, this.#keyAt)) return this.#keyAt;
    return chunk.length - start < KEY.length ? -1 : chunk.indexOf(KEY, start);
  }

  /** The rest of a key that began in the chunk before, if it is one. */
  #cutKey(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length && chunk[at] === KEY[this.#keyBytes]) {
      at += 1;
      this.#keyBytes += 1;
    }
    if (this.#keyBytes === KEY.length) this.#state = 'value';
    if (this.#keyBytes === KEY.length || at < chunk.length) this.#keyBytes = 0;
    return at;
  }

  /** What is no string is no text: null, or parts. */
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
    // Past the end by one: the escaped character is in the next chunk.
    if (at > chunk.length) this.#state = 'escape';
    const end = Math.min(at, chunk.length);
    if (end > start) this.#learn(chunk.subarray(start, end));
    if (end === chunk.length) return end;
    if (this.#state !== 'given-up') this.#state = this.#eventStream ? 'rest' : 'outside';
    return end + 1;
  }

  /** By hand: what is left of an event is shorter than a call of `indexOf` is long. */
  #rest(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length && chunk[at] !== NEWLINE) at += 1;
    if (at < chunk.length) this.#state = 'outside';
    return at;
  }

  #learn(text: Buffer): void {
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

/** For an answer whose text can be read: a success, uncompressed. */
export function answerTextFor(
  headers: { get(name: string): string | undefined },
  blocks: AnswerBlocks | undefined,
): AnswerText | undefined {
  if (blocks === undefined || headers.get(':status') !== '200') return undefined;
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity') return undefined;
  const contentType = headers.get('content-type') ?? '';
  const eventStream = EVENT_STREAM.test(contentType);
  return eventStream || JSON_TYPE.test(contentType)
    ? new AnswerText(blocks, { eventStream })
    : undefined;
}

/** Only in a chunk that begins with an event: no other can stand before. */
function isKeyAt(chunk: Buffer, at: number): boolean {
  if (chunk[0] !== FIRST_OF_EVENT) return false;
  for (let index = 0; index < KEY.length; index++) {
    if (chunk[at + index] !== KEY[index]) return false;
  }
  return true;
}

/** How much of the key the chunk ends with. */
function keyBytesAtEnd(chunk: Buffer, start: number): number {
  for (let at = Math.max(start, chunk.length - KEY.length + 1); at < chunk.length; at++) {
    if (chunk[at] !== QUOTE) continue;
    let length = 1;
    while (at + length < chunk.length && chunk[at + length] === KEY[length]) length += 1;
    if (at + length === chunk.length) return length;
  }
  return 0;
}
