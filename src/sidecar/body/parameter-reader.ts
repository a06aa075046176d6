import type { JsonHandler } from '../../openai/json/json-text.ts';
import { Refusal } from './refusal.ts';

/**
 * Bounds the memory of the body's parts: an empty array takes 2 bytes of text and 16 of memory, and
 * a member with a short name 6 and 100.
 */
const PARTS_MAX = 500_000;
/** Objects in a body that engines read parameters from. */
const NESTED: ReadonlySet<string> = new Set(['sampling_params', 'extra_args', 'vllm_xargs']);

/** Bytes of the text, from `start` to before `end`. */
interface Cut {
  readonly start: number;
  end: number;
}

/** An open object that engines read parameters from. */
interface Parameters {
  /** How many objects and arrays are open within the text, with this one. */
  readonly depth: number;
  /** Behind the opening brace. */
  readonly start: number;
  /** The name of its last member. */
  name: string;
  /** Behind its last whole member, and at first behind the brace. */
  behind: number;
  /** Whether a member before stays. */
  keepsOne: boolean;
}

const NOWHERE: Parameters = { depth: -1, start: 0, name: '', behind: 0, keepsOne: false };

/**
 * Counts the parts of a JSON text, and finds the bytes of the parameters that only the sidecar may
 * set, in one pass: a pass over a long body takes seconds.
 */
export class ParameterReader implements JsonHandler {
  /** Whether the outermost value is an object. */
  isObject = false;
  readonly #text: Buffer;
  readonly #reserved: ReadonlySet<string>;
  readonly #cuts: Cut[] = [];
  readonly #around: Parameters[] = [];
  #in = NOWHERE;
  #depth = 0;
  #parts = 0;

  constructor(text: Buffer, reserved: ReadonlySet<string>) {
    this.#text = text;
    this.#reserved = reserved;
  }

  /** The text without reserved parameters, once all of it has been read: itself without any. */
  rest(): Buffer {
    if (this.#cuts.length === 0) return this.#text;
    const cutBytes = this.#cuts.reduce((sum, { start, end }) => sum + end - start, 0);
    const rest = Buffer.allocUnsafeSlow(this.#text.length - cutBytes);
    let [from, to] = [0, 0];
    for (const { start, end } of [...this.#cuts, { start: this.#text.length, end: 0 }]) {
      to += this.#text.copy(rest, to, from, start);
      from = end;
    }
    return rest;
  }

  key(name: string): void {
    this.#count();
    const inside = this.#in;
    if (this.#depth !== inside.depth) return;
    inside.name = name;
    if (inside.keepsOne || this.#reserved.has(name)) return;
    inside.keepsOne = true;
    const { start, behind } = inside;
    // The comma behind the last of those that are cut from the beginning on.
    if (behind > start) this.#cut(behind, this.#text.indexOf(0x2c, behind) + 1);
  }

  beginObject(end: number): void {
    this.#count();
    const isOutermost = this.#depth === 0;
    const isNested = this.#depth === this.#in.depth && NESTED.has(this.#in.name);
    if (isOutermost) this.isObject = true;
    this.#depth += 1;
    if (!isOutermost && !isNested) return;
    this.#around.push(this.#in);
    this.#in = { depth: this.#depth, start: end, name: '', behind: end, keepsOne: false };
  }

  beginArray(): void {
    this.#count();
    this.#depth += 1;
  }

  endObject(end: number): void {
    if (this.#depth === this.#in.depth) this.#in = this.#around.pop() ?? NOWHERE;
    this.endArray(end);
  }

  endArray(end: number): void {
    this.#depth -= 1;
    this.#endValue(end);
  }

  stringPart(_from: number, _to: number, last: boolean, end: number): void {
    // `end` is before the quote.
    if (last) this.#endValue(end + 1);
  }

  integer(_value: number, end: number): void {
    this.#endValue(end);
  }

  scalar(_text: string, end: number): void {
    this.#endValue(end);
  }

  #endValue(end: number): void {
    const inside = this.#in;
    if (this.#depth !== inside.depth) return;
    if (this.#reserved.has(inside.name)) this.#cut(inside.behind, end);
    inside.behind = end;
  }

  #cut(start: number, end: number): void {
    const last = this.#cuts.at(-1);
    if (last?.end === start) last.end = end;
    else this.#cuts.push({ start, end });
  }

  #count(): void {
    this.#parts += 1;
    if (this.#parts <= PARTS_MAX) return;
    throw new Refusal(400, `the body has more than ${PARTS_MAX} objects, arrays and names`);
  }
}
