import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { LastFlowStays } from './last-flow-stays.ts';

const CLOCK = { now: () => 0, wallTime: () => 0 };

it('[O439] keeps the beginning of a long id, and not the whole of it', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const usedBytes = (): number => {
    collect();
    return getHeapStatistics().used_heap_size;
  };
  const stays = new LastFlowStays(CLOCK);
  const before = usedBytes();
  for (let number = 0; number < 1_000; number++) {
    // Read from bytes, as a header is: a text made of others has no memory of its own.
    const id = Buffer.alloc(60_000, `${number} `).toString('latin1');
    const request = makeRequest({ id: `r${number}`, headers: new Map([['x-request-id', id]]) });
    stays.onStay({ request, since: 0, at: 5, place: undefined, end: { kind: 'client-gone' } });
  }
  expect(usedBytes() - before).toBeLessThan(5_000_000);
  expect(stays.find('r999')?.requestId).toHaveLength(160);
});
