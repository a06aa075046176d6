import type { Millis } from '../../framework/runtime.ts';
import { type ByteReader, type ByteWriter, WireError } from './wire.ts';

/** Readers refuse other versions. Kinds of messages and entries that they do not know they skip. */
export const WIRE_VERSION = 1;
/** Below NATS's default limit of 1 MB for a message. */
export const MESSAGE_BYTES_MAX: number = 768 * 1024;
/** Entries in one message: applying so many takes some tens of milliseconds. */
export const ENTRIES_MAX = 2048;
const TEXT_UNITS_MAX = 512;
/** Texts in one message: endpoints, models, tenants, of which an entry names five at most. */
const TEXTS_MAX: number = 6 * ENTRIES_MAX;
const MAGIC = 0x50;
/** Times are written in tenths of a millisecond, and are at most a day. */
const TENTHS = 10;
const TENTHS_MAX = 864_000_000;

/** What a message is for. */
export const MESSAGE_KIND = {
  /** What has happened since the last one. Also the heartbeat, then empty. */
  batch: 1,
  /** Asks the receiver for the requests that are open there. */
  askOpen: 2,
  /** The open requests in a range of numbers. */
  open: 3,
  /** Asks for the prompts that endpoints are expected to hold. */
  askPrefixes: 4,
  /** The sender ends. */
  bye: 6,
  /** Prompts that one endpoint is expected to hold. Kind 5 said less of them. */
  prefixes: 7,
} as const;

export interface MessageHead {
  readonly kind: number;
  /** The replica that sends. */
  readonly id: string;
  /** Differs after each start of the process. */
  readonly boot: number;
  /** Counts batches from 1; in other messages, that of the last batch. */
  readonly sequence: number;
  /** Wall-clock time at the sender. */
  readonly sentAt: Millis;
}

/** Begins a message: the head is the same for all kinds. */
export function writeHead(writer: ByteWriter, head: MessageHead): void {
  writer.byte(MAGIC);
  writer.byte(WIRE_VERSION);
  writer.byte(head.kind);
  writer.text(head.id);
  writer.number(head.boot);
  writer.number(head.sequence);
  writer.number(head.sentAt);
}

/** Why a message is not read. */
export class VersionError extends WireError {}

/** Throws WireError for what is no message, and VersionError for one of another version. */
export function readHead(reader: ByteReader): MessageHead {
  if (reader.byte() !== MAGIC) throw new WireError('not a message of a replica');
  const version = reader.byte();
  if (version !== WIRE_VERSION) {
    throw new VersionError(`a message has version ${version}, and ${WIRE_VERSION} is read here`);
  }
  const kind = reader.byte();
  const id = reader.text(TEXT_UNITS_MAX);
  if (id === '') throw new WireError('a message names no replica');
  return { kind, id, boot: reader.number(), sequence: reader.number(), sentAt: reader.number() };
}

/** The texts of one message, each written once, and then named by its number. */
export class TextTable {
  readonly #numbers = new Map<string, number>();

  /** Longer texts are cut: they are names that outsiders choose. */
  numberOf(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(text, number);
    return number;
  }

  get isFull(): boolean {
    return this.#numbers.size >= TEXTS_MAX / 2;
  }

  write(writer: ByteWriter): void {
    writer.number(this.#numbers.size);
    for (const text of this.#numbers.keys()) writer.text(text.slice(0, TEXT_UNITS_MAX));
  }

  clear(): void {
    this.#numbers.clear();
  }
}

/** A list of texts. Throws where there are more, or longer ones, than a message may have. */
export function readTexts(reader: ByteReader): readonly string[] {
  const count = reader.number(TEXTS_MAX);
  return Array.from({ length: count }, () => reader.text(TEXT_UNITS_MAX));
}

/** Earlier than the origin counts as at the origin. */
export function writeTime(writer: ByteWriter, afterMs: Millis): void {
  writer.number(Math.min(TENTHS_MAX, TENTHS * afterMs));
}

/** A time in milliseconds after the origin of the message. */
export function readTime(reader: ByteReader): Millis {
  return reader.number(TENTHS_MAX) / TENTHS;
}
