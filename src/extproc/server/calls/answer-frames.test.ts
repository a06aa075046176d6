import { expect, it } from 'vitest';
import { framesOf as framesWithin } from './answer-frames.ts';
import type { Answer } from './answer-writer.ts';

const framesOf = (answers: readonly Answer[]): readonly Uint8Array[] =>
  framesWithin(answers, 1_000_000);

const echo = (bytes: number, endOfStream = false): Answer => ({
  kind: 'echo-request-body',
  pieces: [Buffer.alloc(bytes, 1)],
  endOfStream,
});
const TRAILERS: Answer = { kind: 'answer-request-trailers' };

it('[G3] makes the answers of a turn one buffer, but for large bodies, which it does not copy', () => {
  expect(framesOf([TRAILERS, echo(4000), TRAILERS])).toHaveLength(1);
  const large = echo(60_000, true);
  const mixed = [echo(100), large, TRAILERS, large, echo(0, true)];
  const frames = framesOf(mixed);
  expect(frames.map(({ length }) => length > 50_000)).toEqual([false, true, false, true, false]);
  expect(framesOf([large]).map(({ length }) => length > 0)).toEqual([true, true]);
  const { pieces } = large as Extract<Answer, { readonly pieces: unknown }>;
  expect([frames[1], frames[3]]).toEqual([pieces[0], pieces[0]]);
  expect(frames[1]).toBe(pieces[0]);
  const apart = mixed.flatMap((answer) => framesOf([answer]));
  expect(Buffer.concat(frames).equals(Buffer.concat(apart))).toBe(true);
});

it('[G3] refuses to send an answer above the bound', () => {
  expect(() => framesWithin([TRAILERS, echo(1000)], 1000)).toThrow(/^Sent message larger than max/);
});
