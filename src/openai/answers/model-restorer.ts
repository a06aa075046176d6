import { decodeJsonString } from '../json/json-text.ts';

interface ModelRestorerOptions {
  /** The name to replace. */
  readonly served: string;
  /** The name to put in its place. */
  readonly requested: string;
  /** Server-sent events: a blank line ends an event and all its objects. */
  readonly eventStream: boolean;
}

/** Kind of a property name. */
type Key = 'model' | 'nested' | 'other';

/** Objects whose `model` is restored too: of the messages API's and responses API's streams. */
const NESTED: ReadonlySet<string> = new Set(['message', 'response']);
/** Length of the longest relevant key, `response`. */
const KEY_BYTES_MAX = 8;
/** A UTF-16 code unit takes at most six bytes in JSON, as an escape. */
const ESCAPED_BYTES_MAX = 6;

const [LF, CR, QUOTE, COMMA, COLON] = [0x0a, 0x0d, 0x22, 0x2c, 0x3a];
const [OPEN_ARRAY, BACKSLASH, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [
  0x5b, 0x5c, 0x5d, 0x7b, 0x7d,
];

/**
 * Replaces the serving model's name by the requested one in `model` at the top level of an answer's
 * JSON texts or of their `message` or `response`. Holds back only a value cut by a chunk's end,
 * while it can still be that name.
 */
export class ModelRestorer {
  readonly #served: string;
  readonly #replacement: Uint8Array;
  readonly #heldBytesMax: number;
  readonly #eventStream: boolean;
  #depth = 0;
  /** Whether the open object at depth 2 is one of `NESTED`. */
  #nested = false;
  #lineEmpty = true;
  #inString = false;
  #escaped = false;
  /** The latest string, a possible key, up to one byte more than the longest relevant key. */
  #text = '';
  /** Kind of the key whose value comes next. */
  #key: Key = 'other';
  /** Start, in the current chunk, of a value that may be the name. */
  #since: number | undefined;
  /** The parts of that value from earlier chunks. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  constructor({ served, requested, eventStream }: ModelRestorerOptions) {
    this.#served = served;
    this.#replacement = new TextEncoder().encode(JSON.stringify(requested));
    this.#heldBytesMax = ESCAPED_BYTES_MAX * served.length + 2;
    this.#eventStream = eventStream;
  }

  /** Returns the bytes to pass on, as views of the chunk. Keeps no reference to the chunk. */
  push(chunk: Uint8Array): readonly Uint8Array[] {
    const out: Uint8Array[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (!this.#inString) this.#structural(byte, at);
      else if (this.#ends(byte)) {
        const since = this.#since;
        this.#since = undefined;
        if (since === undefined) continue;
        const raw = [...this.#release(), chunk.subarray(since, at + 1)];
        if (byte === QUOTE && this.#isServed(raw)) {
          out.push(chunk.subarray(from, since), this.#replacement);
          from = at + 1;
        } else if (raw.length > 1) out.push(...raw.slice(0, -1));
      } else if (this.#since !== undefined && this.#tooLong(at)) {
        out.push(...this.#release());
        this.#since = undefined;
      }
    }
    const passes = this.#since ?? chunk.length;
    out.push(chunk.subarray(from, passes));
    // Copied; `slice` of a Buffer would be a view.
    if (this.#since !== undefined) this.#hold(new Uint8Array(chunk.subarray(this.#since)));
    return out.filter((piece) => piece.length > 0);
  }

  /** Returns the bytes still held back at the end. */
  end(): readonly Uint8Array[] {
    this.#since = undefined;
    return this.#release();
  }

  #structural(byte: number, at: number): void {
    if (byte === LF) this.#endLine();
    else if (byte !== CR) this.#lineEmpty = false;
    switch (byte) {
      case QUOTE:
        this.#inString = true;
        this.#text = '';
        if (this.#key === 'model' && this.#atModel()) this.#since = at;
        this.#key = 'other';
        return;
      case COLON:
        this.#key = keyOf(this.#text);
        this.#text = '';
        return;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (this.#depth === 1) this.#nested = byte === OPEN_OBJECT && this.#key === 'nested';
        this.#open(1);
        return;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        this.#open(-1);
        return;
      case COMMA:
        this.#open(0);
    }
  }

  /** Whether the byte ends a string: its quote, or a line feed, which no string contains. */
  #ends(byte: number): boolean {
    if (byte === LF) {
      this.#endLine();
      this.#text = '';
    } else if (this.#escaped) {
      this.#escaped = false;
      this.#text = TOO_LONG;
      return false;
    } else if (byte === BACKSLASH) {
      this.#escaped = true;
      return false;
    } else if (byte !== QUOTE) {
      if (this.#text.length <= KEY_BYTES_MAX) this.#text += String.fromCharCode(byte);
      return false;
    }
    this.#inString = false;
    this.#escaped = false;
    return true;
  }

  #endLine(): void {
    if (this.#eventStream && this.#lineEmpty) this.#depth = 0;
    this.#lineEmpty = true;
  }

  #open(levels: number): void {
    this.#depth = Math.max(0, this.#depth + levels);
    this.#key = 'other';
    this.#text = '';
  }

  #atModel(): boolean {
    return this.#depth === 1 || (this.#depth === 2 && this.#nested);
  }

  #isServed(raw: readonly Uint8Array[]): boolean {
    const [first, ...more] = raw;
    const whole = more.length === 0 ? first : Buffer.concat(raw);
    return whole !== undefined && textIn(whole) === this.#served;
  }

  #tooLong(at: number): boolean {
    return this.#heldBytes + at - (this.#since ?? at) > this.#heldBytesMax;
  }

  #hold(piece: Uint8Array): void {
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    this.#since = 0;
  }

  #release(): readonly Uint8Array[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }
}

/** Longer than any relevant key. */
const TOO_LONG = ' '.repeat(KEY_BYTES_MAX + 1);

function keyOf(text: string): Key {
  if (text === 'model') return 'model';
  return NESTED.has(text) ? 'nested' : 'other';
}

/** Decodes a string with its quotes; undefined if it is not valid JSON. */
function textIn(quoted: Uint8Array): string | undefined {
  try {
    return decodeJsonString([quoted.subarray(1, -1)]);
  } catch {
    return undefined;
  }
}
