import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RoutingError } from '../../framework/error.ts';
import { input } from '../kernel/byte-kernel.ts';
import { JsonScanner } from './json-scanner.ts';
import { decodeJsonString } from './json-text.ts';

/** Builds the value from the handler's calls, to compare it with JSON.parse's. */
class Builder {
  readonly #stack: unknown[][] = [[]];
  readonly #keys: string[][] = [[]];
  readonly #isObject: boolean[] = [false];
  #pieces: Uint8Array[] = [];
  get value(): unknown {
    return this.#stack[0]?.[0];
  }
  beginObject(): void {
    this.#begin(true);
  }
  beginArray(): void {
    this.#begin(false);
  }
  endObject(): void {
    this.#end();
  }
  endArray(): void {
    this.#end();
  }
  key(name: string): void {
    this.#keys.at(-1)?.push(name);
  }
  stringPart(from: number, to: number, last: boolean): void {
    this.#pieces.push(input.slice(from, to));
    if (!last) return;
    this.#add(decodeJsonString(this.#pieces));
    this.#pieces = [];
  }
  integer(value: number): void {
    this.#add(value);
  }
  scalar(text: string): void {
    this.#add(JSON.parse(text));
  }
  #begin(isObject: boolean): void {
    this.#stack.push([]);
    this.#keys.push([]);
    this.#isObject.push(isObject);
  }
  #end(): void {
    const values = this.#stack.pop() ?? [];
    const keys = this.#keys.pop() ?? [];
    const built = this.#isObject.pop()
      ? Object.fromEntries(keys.map((name, index) => [name, values[index]]))
      : values;
    this.#add(built);
  }
  #add(value: unknown): void {
    this.#stack.at(-1)?.push(value);
  }
}

function scan(text: string | Uint8Array, cuts: readonly number[] = []): unknown {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  const builder = new Builder();
  const scanner = new JsonScanner(builder);
  const at = [
    0,
    ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  for (let index = 1; index < at.length; index++)
    scanner.push(bytes.subarray(at[index - 1], at[index]));
  scanner.end();
  return builder.value;
}

const cuts = fc.array(fc.nat(), { maxLength: 12 });

describe('JsonScanner', () => {
  it('reads what JSON.parse reads, however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.json({ stringUnit: 'binary', noUnicodeString: false } as never),
        cuts,
        (text, at) => {
          expect(scan(text, at)).toEqual(JSON.parse(text));
        },
      ),
      { seed: 854, numRuns: 500 },
    );
  });

  it('[G154] reads what JSON.parse reads in texts longer than it scans at once, and in any names', () => {
    const part = fc.oneof(
      fc.constantFrom('plain ', 'line\n', '"quoted"', 'back\\slash', 'é', '\u0001', '😀'),
      fc.string({ unit: 'grapheme', maxLength: 20 }),
    );
    const long = fc
      .tuple(fc.array(part, { minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 400 }))
      .map(([parts, times]) => parts.join('').repeat(times));
    const object = fc.dictionary(fc.string({ unit: 'binary', maxLength: 60 }), long, {
      maxKeys: 12,
    });
    fc.assert(
      fc.property(object, cuts, (value, at) => {
        const text = JSON.stringify(value);
        expect(scan(text, at)).toEqual(JSON.parse(text));
      }),
      { numRuns: 100, seed: 27 },
    );
  });

  it('accepts exactly what JSON.parse accepts, when a valid text is damaged in one place', () => {
    const damage = fc.record({
      at: fc.nat(),
      put: fc.constantFrom(
        '',
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '0',
        '-',
        '.',
        'e',
        't',
        ' ',
        '\n',
        '\u0001',
        'u',
      ),
    });
    fc.assert(
      fc.property(fc.json(), damage, cuts, (text, { at, put }, where) => {
        const place = at % (text.length + 1);
        const damaged = text.slice(0, place) + put + text.slice(place + 1);
        let wanted: unknown;
        let valid = true;
        try {
          wanted = JSON.parse(damaged);
        } catch {
          valid = false;
        }
        if (valid) expect(scan(damaged, where)).toEqual(wanted);
        else expect(() => scan(damaged, where)).toThrow(RoutingError);
      }),
      { seed: 855, numRuns: 3000 },
    );
  });

  it.each([
    '"\\u00e9\\n\\\\\\""',
    '{"a\\u0062":[1,-0.5e3,true,null,"x"]}',
    '[[],{},"",0]',
    ' [ 1 , 2 ] ',
  ])('takes %s cut at every byte', (text) => {
    const all = Array.from({ length: text.length }, (_, index) => index);
    expect(scan(text, all)).toEqual(JSON.parse(text));
  });

  it('says what it found and where', () => {
    expect(() => scan('{"model": nope}')).toThrow(/"nope" before byte 14 is not a value/);
    expect(() => scan('{"a" 1}')).toThrow(/'1' at byte 5 where a colon was expected/);
    // The first and the last visible character, and what is beside them.
    expect(() => scan('{"a" !')).toThrow(/'!' at byte 5 where/);
    expect(() => scan('{"a" ~')).toThrow(/'~' at byte 5 where/);
    expect(() => scan('{"a" \u007f')).toThrow(/byte 0x7f at byte 5 where/);
    expect(() => scan('{"a" \u0001')).toThrow(/byte 0x01 at byte 5 where/);
    expect(() => scan('{"a": "b')).toThrow(/ends early, after 8 bytes/);
    expect(() => scan('')).toThrow(/body is empty/);
    expect(() => scan('['.repeat(129))).toThrow(/nests deeper than 128 levels/);
  });
});

/** What the scanner makes of a text in these pieces: the calls with their offsets, or the error. */
function callsOf(pieces: readonly Uint8Array[]): readonly unknown[] {
  const calls: unknown[] = [];
  const note =
    (kind: string) =>
    (...given: readonly unknown[]): void => {
      calls.push([kind, ...given]);
    };
  const scanner = new JsonScanner({
    beginObject: note('{'),
    endObject: note('}'),
    beginArray: note('['),
    endArray: note(']'),
    key: note('key'),
    stringPart: note('string'),
    integer: note('integer'),
    scalar: note('scalar'),
  });
  try {
    for (const piece of pieces) scanner.push(piece);
    scanner.end();
  } catch (error) {
    calls.push(String(error));
  }
  return calls;
}

describe('arrays of integers', () => {
  it('[G9] are read alike in one piece and byte by byte, sound or not', () => {
    const item = fc.oneof(
      { weight: 12, arbitrary: fc.nat(200_000).map(String) },
      fc.constantFrom('0', '00', '01', '-1', '1.5', '1e3', '[]', '[7]', '{}', 'null', '', ' 3 '),
      fc.integer({ min: 13, max: 18 }).map((digits) => '9'.repeat(digits)),
    );
    const array = fc
      .tuple(fc.array(item, { maxLength: 30 }), fc.constantFrom(',', ', ', ' ,', ',,', ',\n'))
      .map(([items, comma]) => `{"prompt":[${items.join(comma)}],"n":1}`);
    fc.assert(
      fc.property(array, (text) => {
        const bytes = Buffer.from(text);
        const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
        expect(callsOf([bytes])).toEqual(callsOf(single));
      }),
      { numRuns: 2000, seed: 16 },
    );
  });
});
