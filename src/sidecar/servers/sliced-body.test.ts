import { expect, it } from 'vitest';
import { slicedBody } from './sliced-body.ts';

const SLICE_BYTES = 64 * 1024;

it.each([
  [['a', 'b', 'c'], [3]],
  [
    ['a', 'b'.repeat(SLICE_BYTES), 'c', 'd'],
    [1, SLICE_BYTES, 2],
  ],
  [
    ['x'.repeat(3 * SLICE_BYTES), 'y'],
    [SLICE_BYTES, SLICE_BYTES, SLICE_BYTES, 1],
  ],
  [[], []],
])(
  '[V515] a body in pieces is sent in slices of at most 64 KiB, small ones together',
  async (texts, lengths) => {
    let gone = 0;
    const stream = slicedBody(
      texts.map((text) => Buffer.from(text)),
      () => {
        gone += 1;
      },
    );
    const got: Buffer[] = [];
    for await (const slice of stream as AsyncIterable<Buffer>) got.push(slice);
    expect(got.map(({ length }) => length)).toEqual(lengths);
    expect(Buffer.concat(got).toString()).toBe(texts.join(''));
    expect(gone).toBe(1);
  },
);
