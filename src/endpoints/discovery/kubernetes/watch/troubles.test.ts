import { expect, it } from 'vitest';
import { Troubles } from './troubles.ts';

it('[V346] reports at most 30 troubles in a minute, and shows 16 of one source', () => {
  let now = 0;
  const reported: string[] = [];
  const troubles = new Troubles({ now: () => now }, (sentence) => void reported.push(sentence));
  for (let n = 0; n < 200; n++) troubles.set('a', [`wrong in way ${n}`]);
  expect(reported).toHaveLength(30);
  now = 61_000;
  troubles.set(
    'b',
    Array.from({ length: 100 }, (_, n) => `object ${n} is wrong`),
  );
  expect(reported).toHaveLength(47);
  expect(troubles.all).toHaveLength(18);
  expect(troubles.all.at(-1)).toBe('and there are more troubles of this kind');
});
