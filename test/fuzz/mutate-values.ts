import type { Random } from '../../src/framework/runtime.ts';
import { drawnBelow, drawnFrom } from '../support/drawn.ts';

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** Numbers that no JSON text has; a target that reads values gives these strings their meaning. */
const UNSPEAKABLE = ['.nan', '.inf', '-.inf'];
const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e-320,
  1e308,
  2 ** 53 + 2,
  2147483648,
  -2147483649,
  4294967296,
  65536,
  7,
  100,
];
const TEXTS = [
  '',
  ' ',
  '0',
  '1',
  '1s',
  '-1',
  '9'.repeat(40),
  'a'.repeat(300),
  '\0',
  '\ud800',
  '🙂',
];
const DEEP = 40;
const COPIES_MAX = 30;

/** Draws changes of JSON values. `words` are names that the format knows. */
export class ValueMutator {
  readonly #random: Random;
  readonly #words: readonly string[];

  constructor(words: readonly string[], random: Random) {
    this.#random = random;
    this.#words = words;
  }

  /**
   * `value` with one place changed, where a piece of `other` may come in. Both stay as they are.
   */
  changed(value: Json, other: () => Json): Json {
    const isEmpty = typeof value !== 'object' || value === null || keysOf(value).length === 0;
    // Most of what is worth changing is some levels below the top.
    if (isEmpty || drawnBelow(this.#random, 6) === 0) return this.#replaced(value, other);
    const keys = keysOf(value);
    const key = keys[drawnBelow(this.#random, keys.length)] as string;
    if (drawnBelow(this.#random, 5) > 0)
      return withEntry(value, key, this.changed(entry(value, key), other));
    switch (drawnBelow(this.#random, 5)) {
      case 0:
        return without(value, key);
      case 1:
        return this.#repeated(value, key);
      case 2:
        return renamed(value, key, this.#word());
      case 3:
        return withEntry(value, this.#word(), this.#pieceOf(other()));
      default:
        return withEntry(value, key, this.#pieceOf(other()));
    }
  }

  #replaced(value: Json, other: () => Json): Json {
    switch (drawnBelow(this.#random, 7)) {
      case 0:
        return drawnFrom(this.#random, NUMBERS);
      case 1:
        return this.#word();
      case 2:
        return drawnFrom(this.#random, [null, true, false, [], {}, ...UNSPEAKABLE]);
      case 3:
        return drawnFrom(this.#random, TEXTS);
      case 4:
        return typeof value === 'number'
          ? value * drawnFrom(this.#random, [-1, 2, 0.5, 1e9]) + 1
          : [value];
      case 5:
        return drawnBelow(this.#random, 20) === 0 ? nested(value) : { [this.#word()]: value };
      default:
        return this.#pieceOf(other());
    }
  }

  #repeated(value: Json, key: string): Json {
    if (!Array.isArray(value)) return withEntry(value, `${key}2`, entry(value, key));
    const count = 1 + drawnBelow(this.#random, drawnBelow(this.#random, COPIES_MAX) + 1);
    return [...(value as readonly Json[]), ...Array<Json>(count).fill(entry(value, key))];
  }

  #pieceOf(value: Json): Json {
    let piece = value;
    while (typeof piece === 'object' && piece !== null && drawnBelow(this.#random, 4) > 0) {
      const keys = keysOf(piece);
      if (keys.length === 0) break;
      piece = entry(piece, drawnFrom(this.#random, keys));
    }
    return piece;
  }

  #word(): string {
    return drawnFrom(this.#random, this.#words);
  }
}

function keysOf(value: Json): readonly string[] {
  return Object.keys(value as object);
}

function entry(value: Json, key: string): Json {
  return (value as Readonly<Record<string, Json>>)[key] as Json;
}

function withEntry(value: Json, key: string, changed: Json): Json {
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    const at = Number(key);
    return list[at] === undefined ? [...list, changed] : list.with(at, changed);
  }
  return fromPairs([...pairsOf(value).filter(([name]) => name !== key), [key, changed]]);
}

function without(value: Json, key: string): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).toSpliced(Number(key), 1);
  return fromPairs(pairsOf(value).filter(([name]) => name !== key));
}

function renamed(value: Json, key: string, to: string): Json {
  if (Array.isArray(value)) return value as readonly Json[];
  return fromPairs(pairsOf(value).map(([name, each]) => [name === key ? to : name, each]));
}

function pairsOf(value: Json): readonly (readonly [string, Json])[] {
  return Object.entries(value as Readonly<Record<string, Json>>);
}

/** A key `__proto__` becomes an entry, as it does where JSON and YAML are read. */
function fromPairs(pairs: readonly (readonly [string, Json])[]): Json {
  return Object.fromEntries(pairs);
}

function nested(value: Json): Json {
  let outer = value;
  for (let depth = 0; depth < DEEP; depth++) outer = [outer];
  return outer;
}
