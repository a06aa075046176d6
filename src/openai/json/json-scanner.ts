import { invariant } from '../../framework/error.ts';
import { INPUT_BYTES, input, stringEnd } from '../kernel/byte-kernel.ts';
import { JsonKey } from './json-key.ts';
import {
  byteName,
  invalidJson,
  invalidRequest,
  isDigit,
  isHexDigit,
  type JsonHandler,
} from './json-text.ts';
import { INTEGER_DIGITS_MAX, JsonToken } from './json-token.ts';

/** Deeper than any chat; bounds the memory that a hostile body can take. */
const DEPTH_MAX = 128;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

type State =
  | 'value'
  | 'first-value'
  | 'first-key'
  | 'key'
  | 'colon'
  | 'comma'
  | 'done'
  | 'string'
  | 'escape'
  | 'hex'
  | 'token';

/**
 * Checks a JSON text (RFC 8259) while its chunks arrive. Keeps only the nesting. Throws
 * RoutingError `invalid-request` at the first invalid byte.
 */
export class JsonScanner {
  readonly #handler: JsonHandler;
  /** Open containers, true for an object. */
  readonly #open: boolean[] = [];
  #state: State = 'value';
  #stringIsKey = false;
  #hexLeft = 0;
  readonly #key = new JsonKey();
  readonly #token = new JsonToken();
  #offset = 0;

  constructor(handler: JsonHandler) {
    this.#handler = handler;
  }

  /** Whether the value is complete; only white space may follow. */
  get done(): boolean {
    return this.#state === 'done';
  }

  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at += INPUT_BYTES) {
      const piece = chunk.length <= INPUT_BYTES ? chunk : chunk.subarray(at, at + INPUT_BYTES);
      input.set(piece);
      // Nothing takes what an earlier text has left behind this one for a part of it.
      input.fill(0, piece.length, piece.length + 2);
      this.#scan(piece.length);
      this.#offset += piece.length;
    }
  }

  #scan(length: number): void {
    let at = 0;
    while (at < length) {
      if (this.#inText()) at = this.#inString(at, length);
      else if (this.#state === 'token') at = this.#inToken(at, length);
      else {
        const behind = this.#integers(at);
        if (behind === at) this.#structural(input[at++] as number, at - 1);
        else at = behind;
      }
    }
  }

  end(): void {
    if (this.#state === 'token') this.#endToken(0);
    if (this.#state === 'done') return;
    throw this.#offset === 0
      ? invalidRequest('the request body is empty: a JSON object was expected')
      : invalidJson(`it ends early, after ${this.#offset} bytes`);
  }

  #inText(): boolean {
    return this.#state === 'string' || this.#state === 'escape' || this.#state === 'hex';
  }

  /**
   * Passes the plain integers of an array on that are followed by a comma or the array's end, and
   * returns where the first other byte is: a prompt of token ids has hundreds of thousands of them.
   */
  #integers(start: number): number {
    if (this.#state !== 'value' && this.#state !== 'first-value') return start;
    if (!isDigit(input[start]) || this.#open.at(-1) !== false) return start;
    let at = start;
    for (;;) {
      let end = at;
      let value = 0;
      for (; isDigit(input[end]); end++) value = 10 * value + ((input[end] as number) - 0x30);
      const byte = input[end];
      const digits = end - at;
      const plain = digits === 1 || (digits <= INTEGER_DIGITS_MAX && input[at] !== 0x30);
      if (digits === 0 || !plain || (byte !== 0x2c && byte !== 0x5d)) return at;
      this.#handler.integer(value, this.#offset + end);
      this.#state = 'comma';
      if (byte === 0x5d) return end;
      this.#state = 'value';
      at = input[end + 1] === 0x20 ? end + 2 : end + 1;
    }
  }

  #structural(byte: number, at: number): void {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return;
    switch (this.#state) {
      case 'value':
      case 'first-value':
        this.#beginValue(byte, at);
        return;
      case 'first-key':
      case 'key':
        if (byte === QUOTE) this.#beginString(true);
        else if (byte === 0x7d && this.#state === 'first-key') this.#close(byte, at);
        else this.#fail(byte, at, 'a property name in quotes');
        return;
      case 'colon':
        if (byte !== 0x3a) this.#fail(byte, at, 'a colon');
        this.#state = 'value';
        return;
      case 'comma':
        if (byte === 0x2c) this.#state = this.#open.at(-1) === true ? 'key' : 'value';
        else this.#close(byte, at);
        return;
      case 'done':
        return this.#fail(byte, at, 'the end of the body');
      case 'string':
      case 'escape':
      case 'hex':
      case 'token':
        invariant(false, `a structural byte in state ${this.#state}`);
    }
  }

  #beginValue(byte: number, at: number): void {
    if (byte === QUOTE) this.#beginString(false);
    else if (byte === 0x7b || byte === 0x5b) this.#openContainer(byte === 0x7b, at);
    else if (byte === 0x5d && this.#state === 'first-value') this.#close(byte, at);
    else if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a)) {
      this.#state = 'token';
      this.#token.begin();
      this.#addToToken(byte, at);
    } else this.#fail(byte, at, 'a value');
  }

  #openContainer(isObject: boolean, at: number): void {
    if (this.#open.length === DEPTH_MAX) {
      const where = `at byte ${this.#offset + at}`;
      throw invalidRequest(`the request body nests deeper than ${DEPTH_MAX} levels ${where}`);
    }
    this.#open.push(isObject);
    this.#state = isObject ? 'first-key' : 'first-value';
    if (isObject) this.#handler.beginObject(this.#offset + at + 1);
    else this.#handler.beginArray(this.#offset + at + 1);
  }

  #close(byte: number, at: number): void {
    const isObject = this.#open.at(-1);
    if (isObject === undefined || byte !== (isObject ? 0x7d : 0x5d)) {
      this.#fail(byte, at, isObject === true ? 'a comma or }' : 'a comma or ]');
    }
    this.#open.pop();
    if (isObject === true) this.#handler.endObject(this.#offset + at + 1);
    else this.#handler.endArray(this.#offset + at + 1);
    this.#endValue();
  }

  #endValue(): void {
    this.#state = this.#open.length === 0 ? 'done' : 'comma';
  }

  #beginString(isKey: boolean): void {
    this.#stringIsKey = isKey;
    this.#state = 'string';
  }

  /** Passes escapes on unchanged, so that pieces are as long as possible. */
  #inString(start: number, length: number): number {
    let at = start;
    for (;;) {
      for (; at < length && this.#state !== 'string'; at++) this.#inEscape(input[at] as number, at);
      at = stringEnd(at, length);
      if (at >= length) {
        this.#stringPart(start, at, false);
        return at;
      }
      const byte = input[at] as number;
      if (byte === QUOTE) {
        this.#stringPart(start, at, true);
        return at + 1;
      }
      if (byte !== BACKSLASH) this.#fail(byte, at, 'no control character in a string');
      this.#state = 'escape';
      at += 1;
    }
  }

  #inEscape(byte: number, at: number): void {
    if (this.#state === 'hex') {
      if (!isHexDigit(byte)) this.#fail(byte, at, 'four hexadecimal digits after \\u');
      this.#hexLeft -= 1;
      if (this.#hexLeft === 0) this.#state = 'string';
    } else if (byte === 0x75) {
      this.#state = 'hex';
      this.#hexLeft = 4;
    } else if ('"\\/bfnrt'.includes(String.fromCharCode(byte))) this.#state = 'string';
    else this.#fail(byte, at, 'one of "\\/bfnrtu after a backslash');
  }

  #stringPart(start: number, end: number, last: boolean): void {
    if (!this.#stringIsKey) {
      this.#handler.stringPart(start, end, last, this.#offset + end);
      if (last) this.#endValue();
    } else if (last) {
      this.#state = 'colon';
      this.#handler.key(this.#key.take(input, start, end), this.#offset + end + 1);
    } else this.#key.add(input, start, end);
  }

  #inToken(start: number, length: number): number {
    let at = start;
    for (; at < length; at++) {
      const byte = input[at] as number;
      if (byte === 0x2c || byte === 0x5d || byte === 0x7d || byte <= 0x20) {
        this.#endToken(at);
        return at;
      }
      this.#addToToken(byte, at);
    }
    return at;
  }

  #addToToken(byte: number, at: number): void {
    const expected = this.#token.add(byte);
    if (expected !== undefined) this.#fail(byte, at, expected);
  }

  #endToken(at: number): void {
    this.#token.passTo(this.#handler, this.#offset + at);
    this.#endValue();
  }

  #fail(byte: number, at: number, expected: string): never {
    const where = `at byte ${this.#offset + at}`;
    throw invalidJson(`${byteName(byte)} ${where} where ${expected} was expected`);
  }
}
