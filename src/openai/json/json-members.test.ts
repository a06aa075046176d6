import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elementsOf, memberOf, valueOf, withElements, withMembers } from './json-members.ts';

const edited = (text: string, edits: Parameters<typeof withMembers>[1]): string =>
  withMembers(Buffer.from(text), edits).toString();

describe('an edit of members', () => {
  it.each([
    ['{"a":1}', { a: '2' }, '{"a":2}'],
    ['{"a":1,"b":2}', { a: undefined }, '{"b":2}'],
    ['{ "a" : 1 , "b" : 2 }', { b: undefined }, '{ "a" : 1 }'],
    ['{"a":1}', { a: undefined }, '{}'],
    ['{}', { a: '1', b: '[]' }, '{"a":1,"b":[]}'],
    ['{"a":1}', { a: undefined, b: '3' }, '{"b":3}'],
    ['{"a":1,"x":[{"a":1}],"a":2}', { a: '9' }, '{"a":9,"x":[{"a":1}],"a":9}'],
    [
      '{"n":12345678901234567890,"f":1.0}',
      { s: 'true' },
      '{"n":12345678901234567890,"f":1.0,"s":true}',
    ],
    [String.raw`{"\u0061":1}`, { a: '2' }, String.raw`{"\u0061":2}`],
    ['[1]', { a: '2' }, '[1]'],
    ['7', { a: '2' }, '7'],
  ])('[B60] of %s changes only those: %j', (text, edits, expected) => {
    expect(edited(text, edits)).toBe(expected);
  });

  it('[B60] gives the same text back where there is nothing to change', () => {
    const text = Buffer.from('{ "a": 1.0, "b": {"c": 1} }');
    expect(withMembers(text, { c: undefined })).toBe(text);
  });

  it('[B60] keeps every other byte of any object (random, seed 21)', () => {
    const space = fc.constantFrom('', ' ', '\n', '\t ', '  ');
    const leaf = fc.oneof(
      fc.constantFrom('1.0', '-0', '1e400', '12345678901234567890', 'true', 'null', '"\\u0061"'),
      fc.json({ maxDepth: 3 }),
    );
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'kv_transfer_params', 'ü', '');
    const entry = fc.tuple(name, leaf, space, space, space);
    const object = fc.tuple(fc.array(entry, { maxLength: 8 }), space);
    const edits = fc.dictionary(
      fc.constantFrom('a', 'b', 'z'),
      fc.option(leaf, { nil: undefined }),
    );
    fc.assert(
      fc.property(object, edits, ([entries, end], change) => {
        const text = entries
          .map(([key, value, x, y, z]) => `${x}${JSON.stringify(key)}${y}:${z}${value}`)
          .join(',');
        const kept = entries
          .filter(([key]) => !Object.hasOwn(change, key) || change[key] !== undefined)
          .map(([key, value]) => [key, Object.hasOwn(change, key) ? change[key] : value]);
        const added = Object.entries(change).filter(
          ([key, value]) => value !== undefined && !entries.some(([each]) => each === key),
        );
        const result = withMembers(Buffer.from(`{${text}${end}}`), change);
        // The same names with the same bytes, in the same order, duplicates included.
        const shown = readPairs(result);
        expect(shown).toEqual([...kept, ...added]);
        JSON.parse(result.toString());
      }),
      { seed: 21, numRuns: 2000 },
    );
  });

  /** Names and bytes of values, by one removal after another. */
  function readPairs(text: Buffer): readonly (readonly [string, string])[] {
    const wrapped = `[${text.toString().trim().slice(1, -1)}]`;
    const pieces: [string, string][] = [];
    let rest = wrapped.slice(1, -1).trim();
    while (rest !== '') {
      const key = /^"(?:[^"\\]|\\.)*"/.exec(rest)?.[0] ?? '';
      rest = rest.slice(key.length).trim().slice(1).trim();
      let length = rest.length;
      // The longest prefix that is JSON and is followed by a comma or the end.
      for (let at = 1; at <= rest.length; at++) {
        const behind = rest.slice(at).trimStart();
        if ((behind === '' || behind.startsWith(',')) && isJson(rest.slice(0, at))) {
          length = at;
          break;
        }
      }
      pieces.push([JSON.parse(key) as string, rest.slice(0, length).trim()]);
      rest = rest.slice(length).trim().slice(1).trim();
    }
    return pieces;
  }

  function isJson(text: string): boolean {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  }
});

describe('parts of a JSON text', () => {
  it('[B60] are found in their bytes, the last of a name as readers take it', () => {
    const text = Buffer.from('{"a":1, "b" : {"x":[1.0,2]} ,"a": "z"}');
    expect(memberOf(text, 'a')?.toString()).toBe('"z"');
    expect(memberOf(text, 'b')?.toString()).toBe('{"x":[1.0,2]}');
    expect(memberOf(text, 'c')).toBeUndefined();
    expect(valueOf(text, 'b')).toEqual({ x: [1, 2] });
    const elements = elementsOf(Buffer.from('[ {"a":1} ,[2,3],"x", 4.0 ]'), 9);
    expect(elements.map(String)).toEqual(['{"a":1}', '[2,3]', '"x"', '4.0']);
    expect(elementsOf(text, 9)).toEqual([]);
    expect(elementsOf(Buffer.from('[1,2,3]'), 2).map(String)).toEqual(['1', '2']);
    expect(elementsOf(Buffer.from('[{"a":1},[2],{"b":3}]'), 1).map(String)).toEqual(['{"a":1}']);
  });

  it('[B60] an array takes another element at its end', () => {
    expect(Buffer.concat(withElements(Buffer.from('[1.0]'), '2')).toString()).toBe('[1.0,2]');
    expect(Buffer.concat(withElements(Buffer.from('[ ]'), '2')).toString()).toBe('[ 2]');
  });
});
