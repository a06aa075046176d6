import { invalidRequest } from '../json/json-text.ts';

/** What a field with a length holds, as far as it is of interest. */
export type FieldContent = 'message' | 'bytes' | 'varints' | 'skip';

/**
 * Gets what a scanner finds. A field's path is its number, behind 1024 times the path of the
 * message that it is in: field 2 of field 4 is 4 * 1024 + 2.
 */
export interface ProtoHandler {
  /** A field with a length begins. */
  contentOf(path: number, place: FieldPlace): FieldContent;
  /** A number; of a packed field each one. Exact below 2^53. */
  varint(path: number, value: number): void;
  /** A piece of a `bytes` field, valid during the call. */
  bytes(path: number, piece: Uint8Array): void;
}

/** Offsets in the whole text. */
export interface FieldPlace {
  readonly start: number;
  readonly keyEnd: number;
  readonly contentStart: number;
  readonly contentEnd: number;
}

/** The wire type of numbers. */
const VARINT = 0;
const FIXED64 = 1;
/** The wire type of what has a length. */
const DELIMITED = 2;
/** Groups are an older form of messages. Servers pass over them, as fields that they do not know. */
const GROUP = 3;
const GROUP_END = 4;
const FIXED32 = 5;

/** Groups within each other: protobuf's own readers take as many. */
const GROUPS_MAX = 100;

/** The most bytes of a 64-bit number. */
const VARINT_BYTES_MAX = 10;
const KEY_MAX = 0xffff_ffff;
/** One more than the largest field number that a path can have. */
const PATH_FIELDS = 1024;
/** The path of fields that no message of interest has. */
const NO_PATH = -1;

/** `key`, `varint` and `length`: within that number. The others: within a field's content. */
type State = 'key' | 'varint' | 'length' | 'varints' | 'bytes' | 'skip';

/** A message that is open, or a group, which ends within it. */
interface Message {
  readonly path: number;
  readonly end: number;
  /** The field of a group. */
  readonly group?: number;
}

/**
 * Walks a protobuf message while its chunks arrive, and keeps none of them. Throws RoutingError
 * `invalid-request` at the first byte that cannot be.
 */
export class ProtoScanner {
  readonly #handler: ProtoHandler;
  /** The messages that are open, from the outermost. */
  readonly #open: Message[];
  #state: State = 'key';
  #path = 0;
  #start: number;
  #keyEnd = 0;
  #contentEnd = 0;
  #value = 0;
  #scale = 1;
  #digits = 0;
  /** The offset of the next chunk in the whole text. */
  #offset: number;

  /** `start`: the message's offset in the whole text. */
  constructor(handler: ProtoHandler, start: number, length: number) {
    this.#handler = handler;
    this.#open = length === 0 ? [] : [{ path: 0, end: start + length }];
    this.#start = start;
    this.#offset = start;
  }

  get done(): boolean {
    return this.#open.length === 0;
  }

  /** The next part of the message: at most up to its end. */
  push(chunk: Uint8Array): void {
    const base = this.#offset;
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === 'bytes' || this.#state === 'skip') at = this.#content(chunk, at, base);
      else if (this.#state === 'varints') at = this.#packed(chunk, at, base);
      else {
        const ended = this.#digit(chunk[at] as number);
        at += 1;
        if (ended) this.#number(base + at);
        else if (base + at >= this.#end()) throw cutShort(base + at);
      }
    }
    this.#offset = base + chunk.length;
  }

  /** The end of the innermost message. */
  #end(): number {
    return this.#open.at(-1)?.end ?? 0;
  }

  /** Adds seven bits to the number ahead; whether they were its last. */
  #digit(byte: number): boolean {
    this.#value += (byte & 0x7f) * this.#scale;
    this.#scale *= 128;
    this.#digits += 1;
    if (byte < 0x80) return true;
    if (this.#digits === VARINT_BYTES_MAX) throw invalidProto('a number has more than 10 bytes');
    return false;
  }

  /** The number, and begins anew. */
  #take(): number {
    const value = this.#value;
    this.#value = 0;
    this.#scale = 1;
    this.#digits = 0;
    return value;
  }

  #number(offset: number): void {
    const value = this.#take();
    if (this.#state === 'key') this.#key(value, offset);
    else if (this.#state === 'length') this.#beginContent(value, offset);
    else {
      this.#handler.varint(this.#path, value);
      this.#endField(offset);
    }
  }

  #key(key: number, offset: number): void {
    const field = Math.floor(key / 8);
    if (field === 0 || key > KEY_MAX) throw invalidProto(`${field} is no field, at byte ${offset}`);
    const outer = this.#open.at(-1)?.path ?? NO_PATH;
    this.#path = field < PATH_FIELDS && outer >= 0 ? outer * PATH_FIELDS + field : NO_PATH;
    this.#keyEnd = offset;
    switch (key % 8) {
      case VARINT:
        this.#state = 'varint';
        break;
      case DELIMITED:
        this.#state = 'length';
        break;
      case FIXED64:
        return this.#skip(8, offset);
      case FIXED32:
        return this.#skip(4, offset);
      case GROUP:
        return this.#beginGroup(field, offset);
      case GROUP_END:
        return this.#endGroup(field, offset);
      default:
        throw invalidProto(`field ${field} has the unknown type ${key % 8}, at byte ${offset}`);
    }
    if (offset >= this.#end()) throw cutShort(offset);
  }

  #beginGroup(field: number, offset: number): void {
    if (this.#open.length >= GROUPS_MAX) {
      throw invalidProto(`it has over ${GROUPS_MAX} groups within each other, at byte ${offset}`);
    }
    this.#open.push({ path: NO_PATH, end: this.#end(), group: field });
    this.#endField(offset);
  }

  #endGroup(field: number, offset: number): void {
    if (this.#open.at(-1)?.group !== field) {
      throw invalidProto(
        `group ${field} ends, which is not the one that is open, at byte ${offset}`,
      );
    }
    this.#open.pop();
    this.#endField(offset);
  }

  #skip(bytes: number, offset: number): void {
    this.#limit(bytes, offset);
    this.#state = 'skip';
  }

  #limit(bytes: number, offset: number): void {
    this.#contentEnd = offset + bytes;
    if (this.#contentEnd > this.#end()) {
      throw invalidProto(`a field of ${bytes} bytes goes beyond its message, at byte ${offset}`);
    }
  }

  #beginContent(length: number, offset: number): void {
    this.#limit(length, offset);
    const [path, contentEnd] = [this.#path, this.#contentEnd];
    const place = { start: this.#start, keyEnd: this.#keyEnd, contentStart: offset, contentEnd };
    const content = path === NO_PATH ? 'skip' : this.#handler.contentOf(path, place);
    if (content === 'message') {
      this.#open.push({ path, end: contentEnd });
      this.#endField(offset);
    } else if (length === 0) this.#endField(offset);
    else this.#state = content;
  }

  /** A field has ended, and with it perhaps messages; or a message has begun. */
  #endField(offset: number): void {
    this.#state = 'key';
    this.#start = offset;
    for (let last = this.#open.at(-1); last?.end === offset; last = this.#open.at(-1)) {
      if (last.group !== undefined) throw cutShort(offset);
      this.#open.pop();
    }
  }

  #content(chunk: Uint8Array, at: number, base: number): number {
    const end = Math.min(chunk.length, this.#contentEnd - base);
    if (this.#state === 'bytes') this.#handler.bytes(this.#path, chunk.subarray(at, end));
    if (base + end === this.#contentEnd) this.#endField(base + end);
    return end;
  }

  /** A prompt has hundreds of thousands of these numbers. */
  #packed(chunk: Uint8Array, start: number, base: number): number {
    const end = Math.min(chunk.length, this.#contentEnd - base);
    for (let at = start; at < end; at++) {
      const byte = chunk[at] as number;
      if (byte < 0x80 && this.#digits === 0) this.#handler.varint(this.#path, byte);
      else if (this.#digit(byte)) this.#handler.varint(this.#path, this.#take());
    }
    if (base + end < this.#contentEnd) return end;
    if (this.#digits > 0) throw cutShort(base + end);
    this.#endField(base + end);
    return end;
  }
}

function cutShort(offset: number): Error {
  return invalidProto(`its message ends within a field, at byte ${offset}`);
}

function invalidProto(message: string): Error {
  return invalidRequest(`the request body is no valid protobuf: ${message}`);
}
