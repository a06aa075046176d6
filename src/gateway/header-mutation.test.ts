import { describe, expect, it } from 'vitest';
import { applyMutation, endToEndHeaders, toWire } from './header-mutation.ts';

describe('endToEndHeaders', () => {
  it('keeps repeated headers apart and drops those of one hop', () => {
    const flat = ['Set-Cookie', 'a', 'Connection', 'close', 'set-cookie', 'b', 'TE', 'trailers'];
    expect(endToEndHeaders(flat)).toEqual([
      ['set-cookie', 'a'],
      ['set-cookie', 'b'],
    ]);
  });
});

describe('mutate', () => {
  const before = [
    ['a', '1'],
    ['a', '2'],
    ['b', '3'],
  ] as const;

  it('replaces every value of a header that is set, and prefers raw bytes', () => {
    const header = { key: 'A', value: 'x', raw_value: Buffer.from('\xe9', 'latin1') };
    expect(applyMutation(before, { set_headers: [{ header }] })).toEqual([
      ['b', '3'],
      ['a', '\xe9'],
    ]);
  });

  it('removes before it sets', () => {
    const set_headers = [{ header: { key: 'b', value: 'new' } }];
    expect(applyMutation(before, { remove_headers: ['A', 'B'], set_headers })).toEqual([
      ['b', 'new'],
    ]);
  });

  it('follows the conditions of an action', () => {
    const header = { key: 'b', value: 'new' };
    const other = { key: 'c', value: 'new' };
    expect(
      applyMutation(before, { set_headers: [{ header, append_action: 'ADD_IF_ABSENT' }] }),
    ).toEqual(before);
    expect(
      applyMutation(before, {
        set_headers: [{ header: other, append_action: 'OVERWRITE_IF_EXISTS' }],
      }),
    ).toEqual(before);
  });

  it('leaves pseudo-headers and headers of one hop alone', () => {
    const set_headers = [
      { header: { key: ':path', value: '/x' } },
      { header: { key: 'Connection', value: 'close' } },
    ];
    expect(applyMutation(before, { set_headers })).toEqual(before);
    expect(applyMutation(before)).toEqual(before);
  });

  it('carries any byte to the wire', () => {
    expect(toWire([['x', '\xff']])).toEqual([{ key: 'x', raw_value: Buffer.from([0xff]) }]);
  });
});
