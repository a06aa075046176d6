import { expect, it } from 'vitest';
import { GatheredBytes } from './gathered-bytes.ts';

it('gives out all that was gathered, which stays as it is until it is given back', () => {
  const gathered = new GatheredBytes();
  const taken: { readonly bytes: Uint8Array<ArrayBuffer>; readonly first: number }[] = [];
  for (let round = 0; round < 40; round++) {
    const pieces = 1 + ((round * 7) % 20);
    for (let piece = 0; piece < pieces; piece++) {
      gathered.add(new Uint8Array(50_000).fill(round + 1));
    }
    expect(gathered.length).toBe(50_000 * pieces);
    const bytes = gathered.take();
    expect(bytes.length).toBe(50_000 * pieces);
    taken.push({ bytes, first: round + 1 });
    // Up to three are out at a time.
    for (const { bytes: held, first } of taken)
      expect(held.every((each) => each === first)).toBe(true);
    if (taken.length === 3) gathered.giveBack(taken.shift()?.bytes ?? bytes);
  }
  expect(gathered.take().length).toBe(0);
});

it('uses the memory of what was given back again, unless it was far more than is usual', () => {
  const gathered = new GatheredBytes();
  gathered.add(new Uint8Array(1_000_000));
  const first = gathered.take();
  gathered.giveBack(first);
  gathered.take();
  expect(gathered.take().buffer).toBe(first.buffer);
  const again = new GatheredBytes();
  again.add(new Uint8Array(10_000_000));
  const large = again.take();
  again.giveBack(large);
  again.take();
  expect(again.take().buffer).not.toBe(large.buffer);
});
