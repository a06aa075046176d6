import { invariant, RoutingError } from '../framework/error.ts';

/** Hears a JSON text's parts in order. String values come as raw bytes, escapes and all, in one or more pieces. */
export interface JsonHandler {
  /** `end`: offset in the whole text behind the brace. */
  beginObject(end: number): void;
  endObject(): void;
  beginArray(): void;
  endArray(): void;
  key(name: string): void;
  /**
   * `text` is only valid during the call unless it is copied or its chunk is kept. `end`: offset in the whole text behind
   * this piece.
   */
  stringPart(text: Uint8Array, last: boolean, end: number): void;
  integer(value: number): void;
  /** `true`, `false`, `null`, or a number that is not a plain integer. */
  scalar(text: string): void;
}

/** Deeper nesting than any chat; a bound on the stack against hostile bodies. */
const DEPTH_MAX = 128;
const KEY_BYTES_MAX = 4096;
const TOKEN_BYTES_MAX = 512;
/** Longer runs of digits go through the general number path, where a double is exact about being inexact. */
const INTEGER_DIGITS_MAX = 15;
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** 1 for a byte that ends a plain run inside a string: quote, backslash, control characters. */
const ENDS_RUN = new Uint8Array(256);
for (let byte = 0; byte < 0x20; byte++) ENDS_RUN[byte] = 1;
ENDS_RUN[QUOTE] = 1;
ENDS_RUN[BACKSLASH] = 1;

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
 * Checks a JSON text (RFC 8259) while its bytes arrive, however they are cut, and tells a handler what is in it. Keeps
 * nothing but the nesting. Throws RoutingError `invalid-request` at the first byte that cannot be.
 */
export class JsonScanner {
  readonly #handler: JsonHandler;
  /** Open containers, true for an object. */
  readonly #open: boolean[] = [];
  #state: State = 'value';
  #stringIsKey = false;
  #hexLeft = 0;
  #keyPieces: Uint8Array[] = [];
  #keyBytes = 0;
  #token = '';
  #integer = 0;
  #digits = 0;
  #offset = 0;

  constructor(handler: JsonHandler) {
    this.#handler = handler;
  }

  /** The value is closed; only white space may follow. */
  get done(): boolean {
    return this.#state === 'done';
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#inText()) at = this.#inString(chunk, at);
      else if (this.#state === 'token') at = this.#inToken(chunk, at);
      else {
        this.#structural(chunk[at] as number, at);
        at += 1;
      }
    }
    this.#offset += chunk.length;
  }

  end(): void {
    if (this.#state === 'token') this.#endToken(0);
    if (this.#state === 'done') return;
    throw new RoutingError(
      'invalid-request',
      this.#offset === 0
        ? 'the request body is empty: a JSON object was expected'
        : `the request body is not valid JSON: it ends early, after ${this.#offset} bytes`,
    );
  }

  #inText(): boolean {
    return this.#state === 'string' || this.#state === 'escape' || this.#state === 'hex';
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
      this.#token = '';
      this.#integer = 0;
      this.#digits = 0;
      this.#addToToken(byte, at);
    } else this.#fail(byte, at, 'a value');
  }

  #openContainer(isObject: boolean, at: number): void {
    if (this.#open.length === DEPTH_MAX) {
      throw new RoutingError(
        'invalid-request',
        `the request body nests deeper than ${DEPTH_MAX} levels at byte ${this.#offset + at}`,
      );
    }
    this.#open.push(isObject);
    this.#state = isObject ? 'first-key' : 'first-value';
    if (isObject) this.#handler.beginObject(this.#offset + at + 1);
    else this.#handler.beginArray();
  }

  #close(byte: number, at: number): void {
    const isObject = this.#open.at(-1);
    if (isObject === undefined || byte !== (isObject ? 0x7d : 0x5d)) {
      this.#fail(byte, at, isObject === true ? 'a comma or }' : 'a comma or ]');
    }
    this.#open.pop();
    if (isObject === true) this.#handler.endObject();
    else this.#handler.endArray();
    this.#endValue();
  }

  #endValue(): void {
    this.#state = this.#open.length === 0 ? 'done' : 'comma';
  }

  #beginString(isKey: boolean): void {
    this.#stringIsKey = isKey;
    this.#state = 'string';
  }

  /** Escapes stay in the text as they are; the run goes on through them to keep pieces long. */
  #inString(chunk: Uint8Array, start: number): number {
    let at = start;
    for (;;) {
      for (; at < chunk.length && this.#state !== 'string'; at++) {
        this.#inEscape(chunk[at] as number, at);
      }
      while (at < chunk.length && ENDS_RUN[chunk[at] as number] === 0) at += 1;
      if (at >= chunk.length) {
        this.#stringPart(chunk.subarray(start, at), false, at);
        return at;
      }
      const byte = chunk[at] as number;
      if (byte === QUOTE) {
        this.#stringPart(chunk.subarray(start, at), true, at);
        return at + 1;
      }
      if (byte !== BACKSLASH) this.#fail(byte, at, 'no control character in a string');
      this.#state = 'escape';
      at += 1;
    }
  }

  #inEscape(byte: number, at: number): void {
    if (this.#state === 'hex') {
      if (!isHex(byte)) this.#fail(byte, at, 'four hexadecimal digits after \\u');
      this.#hexLeft -= 1;
      if (this.#hexLeft === 0) this.#state = 'string';
    } else if (byte === 0x75) {
      this.#state = 'hex';
      this.#hexLeft = 4;
    } else if ('"\\/bfnrt'.includes(String.fromCharCode(byte))) this.#state = 'string';
    else this.#fail(byte, at, 'one of "\\/bfnrtu after a backslash');
  }

  #stringPart(text: Uint8Array, last: boolean, at: number): void {
    if (!this.#stringIsKey) {
      this.#handler.stringPart(text, last, this.#offset + at);
      if (last) this.#endValue();
      return;
    }
    this.#keyBytes += text.length;
    if (this.#keyBytes > KEY_BYTES_MAX) {
      throw new RoutingError(
        'invalid-request',
        `the request body has a property name longer than ${KEY_BYTES_MAX} bytes`,
      );
    }
    // A piece may outlive its chunk here.
    this.#keyPieces.push(last ? text : text.slice());
    if (!last) return;
    const raw = decoded(this.#keyPieces);
    this.#keyPieces = [];
    this.#keyBytes = 0;
    this.#state = 'colon';
    this.#handler.key(raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw);
  }

  #inToken(chunk: Uint8Array, start: number): number {
    let at = start;
    for (; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (byte === 0x2c || byte === 0x5d || byte === 0x7d || byte <= 0x20) {
        this.#endToken(at);
        return at;
      }
      this.#addToToken(byte, at);
    }
    return at;
  }

  #addToToken(byte: number, at: number): void {
    const digit = byte - 0x30;
    // While only digits came, no text is built: token-id prompts are hundreds of thousands of these.
    if (this.#token === '' && digit >= 0 && digit <= 9 && this.#digits < INTEGER_DIGITS_MAX) {
      if (this.#digits === 1 && this.#integer === 0)
        this.#fail(byte, at, 'no digit after a leading 0');
      this.#integer = 10 * this.#integer + digit;
      this.#digits += 1;
      return;
    }
    if (this.#token === '' && this.#digits > 0) this.#token = String(this.#integer);
    this.#token += String.fromCharCode(byte);
    if (this.#token.length > TOKEN_BYTES_MAX) this.#fail(byte, at, 'a shorter number');
  }

  #endToken(at: number): void {
    if (this.#token === '') this.#handler.integer(this.#integer);
    else if (SCALAR.test(this.#token)) this.#handler.scalar(this.#token);
    else {
      throw new RoutingError(
        'invalid-request',
        `the request body is not valid JSON: ${JSON.stringify(this.#token.slice(0, 32))} before byte ${this.#offset + at} is not a value`,
      );
    }
    this.#endValue();
  }

  #fail(byte: number, at: number, expected: string): never {
    const found =
      byte > 0x20 && byte < 0x7f
        ? `'${String.fromCharCode(byte)}'`
        : `byte 0x${byte.toString(16).padStart(2, '0')}`;
    throw new RoutingError(
      'invalid-request',
      `the request body is not valid JSON: ${found} at byte ${this.#offset + at} where ${expected} was expected`,
    );
  }
}

/** A string value's raw bytes as text. Throws RoutingError when its escapes do not make text. */
export function decodeJsonString(pieces: readonly Uint8Array[]): string {
  const raw = decoded(pieces);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

function decoded(pieces: readonly Uint8Array[]): string {
  const [first, ...more] = pieces;
  if (first === undefined) return '';
  if (more.length === 0) return utf8.decode(first);
  const whole = new Uint8Array(pieces.reduce((bytes, piece) => bytes + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return utf8.decode(whole);
}

function isHex(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x46) ||
    (byte >= 0x61 && byte <= 0x66)
  );
}
