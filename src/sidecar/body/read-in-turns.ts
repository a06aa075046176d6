import type { Hash } from 'node:crypto';
import { JsonObject } from '../../openai/json/json-object.ts';
import { JsonScanner } from '../../openai/json/json-scanner.ts';
import type { JsonHandler } from '../../openai/json/json-text.ts';
import { PartsReader } from '../../openai/json/parts-reader.ts';
import { SharedTurns } from '../../runtime/clock/shared-turns.ts';
import { TimeSlices } from '../../runtime/clock/time-slices.ts';

/** One piece is read within a slice of time, however many values are in it. */
const PIECE_BYTES = 16 * 1024;
/** Each takes about 100 bytes; no object that is looked into has so many. */
const MEMBERS_MAX = 10_000;
/** All texts that are read at the same time take turns. */
const turns = new SharedTurns();

/**
 * Reads long texts of clients, one request's at a time, in slices between which other requests are
 * served. Rejects with the signal's reason once that has aborted.
 */
export class TurnsReader {
  readonly #signal: AbortSignal | undefined;
  readonly #slices: TimeSlices;

  constructor(
    signal?: AbortSignal,
    slices: TimeSlices = new TimeSlices(undefined, () => turns.next()),
  ) {
    this.#signal = signal;
    this.#slices = slices;
  }

  /** Lets other requests come where the slice is over. Rejects with the signal's reason. */
  async step(): Promise<void> {
    if (this.#slices.isOver) await this.#slices.next();
    this.#signal?.throwIfAborted();
  }

  /** Calls `read` with each piece in turn. */
  async pieces(text: Buffer, read: (piece: Buffer) => void): Promise<void> {
    for (let at = 0; at < text.length; at += PIECE_BYTES) {
      await this.step();
      read(text.subarray(at, at + PIECE_BYTES));
    }
  }

  /** The bytes of all pieces in one; a copy where there are several. */
  async joined(pieces: readonly Buffer[]): Promise<Buffer> {
    const [first] = pieces;
    if (first !== undefined && pieces.length === 1) return first;
    const whole = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of pieces) {
      await this.pieces(piece, (part) => {
        at += part.copy(whole, at);
      });
    }
    return whole;
  }

  /** Throws RoutingError `invalid-request` for what is no JSON. */
  async scan(text: Buffer, handler: JsonHandler): Promise<void> {
    const scanner = new JsonScanner(handler);
    await this.pieces(text, (piece) => scanner.push(piece));
    scanner.end();
  }

  /** The first elements of an array, at most so many, each in its bytes; none for another value. */
  async elementsOf(text: Buffer, elementsMax: number): Promise<readonly Buffer[]> {
    const reader = new PartsReader(text, elementsMax);
    await this.scan(text, reader);
    if (reader.kind !== 'array') return [];
    return reader.parts.map(({ start, end }) => text.subarray(start, end));
  }

  /** The object that a text is; undefined for another value, and for more than 10,000 members. */
  async objectIn(text: Buffer): Promise<JsonObject | undefined> {
    const reader = new PartsReader(text, 0, MEMBERS_MAX);
    await this.scan(text, reader);
    return reader.kind === 'object' ? new JsonObject(text, reader.index) : undefined;
  }

  /** Adds bytes to a hash. */
  async hash(bytes: Buffer, hash: Hash): Promise<Hash> {
    await this.pieces(bytes, (piece) => hash.update(piece));
    return hash;
  }
}

const OPEN_BRACE = 0x7b;

/** The object that a member is, read in turns; undefined without one, and for another value. */
export async function memberObject(
  object: JsonObject,
  name: string,
  inTurns: TurnsReader,
): Promise<JsonObject | undefined> {
  const found = object.member(name);
  return found?.[0] === OPEN_BRACE ? inTurns.objectIn(found) : undefined;
}

/** What a text takes beyond its length, in bytes read. */
const TEXT_BYTES = 128;

/**
 * Lets other requests come between many short texts of one stream, each too short for slices: after
 * the texts of so many bytes.
 */
export class TextPace {
  #bytes = 0;

  /** To be called before each text. */
  async before({ length }: Buffer): Promise<void> {
    if (this.#bytes >= PIECE_BYTES) {
      await turns.next();
      this.#bytes = 0;
    }
    this.#bytes += length + TEXT_BYTES;
  }
}
