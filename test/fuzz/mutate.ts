import type { Random } from '../../src/framework/runtime.ts';
import { drawnBelow, drawnFrom } from '../support/drawn.ts';
import { type Json, ValueMutator } from './mutate-values.ts';
import { type FuzzTarget, utf8 } from './target.ts';

/** Larger inputs find the same faults more slowly. A target may set less. */
const INPUT_BYTES_MAX = 16_384;
const MUTATIONS_MAX = 6;
/** Of the inputs of a target that reads JSON, one in so many is changed as bytes. */
const BYTES_ONE_IN = 50;
/** Inputs kept because their outcome was new. */
const CORPUS_MAX = 2000;

const NUMBERS = (
  '0 -0 -1 1e400 -1e400 1e-400 NaN +Inf -Inf null true 9007199254740993 4294967296 ' +
  '2147483648 -2147483649 0.1 1e15 00'
)
  .split(' ')
  .map(utf8);
const BYTES = [0, 1, 0x0a, 0x22, 0x7f, 0x80, 0xc0, 0xdc, 0xdd, 0xdf, 0xfe, 0xff] as const;

/** Draws inputs of a target: its seeds and inputs with new outcomes, changed in a few places. */
export class Mutator {
  readonly #random: Random;
  readonly #corpus: Uint8Array[];
  readonly #words: readonly Uint8Array[];
  readonly #bytesMax: number;
  readonly #values: ValueMutator | undefined;
  readonly #outcomes = new Set<string>();

  constructor(target: FuzzTarget, random: Random) {
    const { seeds, words, form, inputBytesMax = INPUT_BYTES_MAX } = target;
    this.#random = random;
    this.#values = form === 'json' ? new ValueMutator(words, random) : undefined;
    this.#corpus = [...seeds];
    this.#bytesMax = inputBytesMax;
    // Characters below 256 are bytes of binary formats.
    this.#words = words.map((word) =>
      /[^\0-\xff]/.test(word) ? utf8(word) : Buffer.from(word, 'latin1'),
    );
  }

  get outcomes(): number {
    return this.#outcomes.size;
  }

  next(): Uint8Array {
    let input = drawnFrom(this.#random, this.#corpus);
    const mutations = 1 + drawnBelow(this.#random, MUTATIONS_MAX);
    if (this.#values !== undefined && drawnBelow(this.#random, BYTES_ONE_IN) > 0) {
      // Each change of a value is likely to be an error, behind which others do not show.
      const changed = this.#withOtherValues(
        this.#values,
        input,
        1 + drawnBelow(this.#random, mutations),
      );
      return changed.length > this.#bytesMax ? input : changed;
    }
    for (let count = 0; count < mutations; count++) input = this.#mutate(input);
    return input.subarray(0, this.#bytesMax);
  }

  learn(input: Uint8Array, outcome: string): void {
    if (this.#outcomes.has(outcome) || this.#outcomes.size >= CORPUS_MAX) return;
    this.#outcomes.add(outcome);
    this.#corpus.push(input.slice());
  }

  #mutate(input: Uint8Array): Uint8Array {
    const [from, to] = this.#range(input);
    switch (drawnBelow(this.#random, 10)) {
      case 0:
        return changed(input, from, (byte) => byte ^ (1 << drawnBelow(this.#random, 8)));
      case 1:
        return changed(input, from, () => drawnFrom(this.#random, BYTES));
      case 2:
        return spliced(input, from, to, NOTHING);
      case 3:
        return spliced(input, to, to, input.subarray(from, to));
      case 4:
        return spliced(input, from, from, drawnFrom(this.#random, this.#words));
      case 5:
        return spliced(input, from, to, drawnFrom(this.#random, this.#words));
      case 6:
        return this.#otherNumber(input, from);
      case 7:
        return input.subarray(0, to);
      case 8:
        return this.#repeated(input, from, to);
      default: {
        const other = drawnFrom(this.#random, this.#corpus);
        const [otherFrom, otherTo] = this.#range(other);
        return spliced(input, from, to, other.subarray(otherFrom, otherTo));
      }
    }
  }

  #withOtherValues(values: ValueMutator, input: Uint8Array, mutations: number): Uint8Array {
    let value = jsonOf(input);
    for (let count = 0; count < mutations; count++) {
      value = values.changed(value, () => jsonOf(drawnFrom(this.#random, this.#corpus)));
    }
    return utf8(JSON.stringify(value));
  }

  /** Replaces the next run of digits. */
  #otherNumber(input: Uint8Array, from: number): Uint8Array {
    const isDigit = (at: number): boolean => (input[at] ?? 0) >= 0x30 && (input[at] ?? 0) <= 0x39;
    let start = from;
    while (start < input.length && !isDigit(start)) start += 1;
    let end = start;
    while (end < input.length && isDigit(end)) end += 1;
    return spliced(input, start, end, drawnFrom(this.#random, NUMBERS));
  }

  #repeated(input: Uint8Array, from: number, to: number): Uint8Array {
    const piece = input.subarray(from, Math.min(to, from + 64));
    const times = Math.min(
      2 + drawnBelow(this.#random, 200),
      Math.floor(4096 / Math.max(1, piece.length)),
    );
    return spliced(input, from, from, Buffer.concat(Array.from({ length: times }, () => piece)));
  }

  #range(input: Uint8Array): readonly [number, number] {
    const from = drawnBelow(this.#random, input.length + 1);
    // Short ranges are as likely as long ones.
    const length = drawnBelow(
      this.#random,
      1 + drawnBelow(this.#random, 1 + (input.length - from)),
    );
    return [from, from + length];
  }
}

/** Null where bytes were changed so that they are no JSON text any more. */
function jsonOf(input: Uint8Array): Json {
  try {
    return JSON.parse(decoder.decode(input)) as Json;
  } catch {
    return null;
  }
}

const decoder = new TextDecoder();
const NOTHING = new Uint8Array(0);

function changed(input: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  const output = input.slice();
  if (at < output.length) output[at] = change(output[at] as number);
  return output;
}

function spliced(input: Uint8Array, from: number, to: number, piece: Uint8Array): Uint8Array {
  const output = new Uint8Array(from + piece.length + (input.length - to));
  output.set(input.subarray(0, from));
  output.set(piece, from);
  output.set(input.subarray(to), from + piece.length);
  return output;
}
