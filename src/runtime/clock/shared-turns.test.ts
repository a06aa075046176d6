import { expect, it } from 'vitest';
import { SharedTurns } from './shared-turns.ts';

it('[V494] one of the works that wait goes on in each turn of the event loop, in order', async () => {
  const turns = new SharedTurns();
  const order: string[] = [];
  const work = async (name: string): Promise<void> => {
    for (let step = 0; step < 2; step++) {
      await turns.next();
      order.push(name);
    }
  };
  const both = Promise.all([work('a'), work('b')]);
  for (let turn = 0; turn < 4; turn++) {
    await new Promise(setImmediate);
    order.push('others');
  }
  await both;
  const [first, ...rest] = order;
  expect(first).toBe('a');
  expect(rest).toEqual(['others', 'b', 'others', 'a', 'others', 'b', 'others']);
});
