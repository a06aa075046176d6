import { expect, test } from 'vitest';
import { StreamWatch } from './stream-times.ts';

test('[D97] the time for a response is that of all its pieces, of which some stand for others', () => {
  let now = 0;
  const seen: string[] = [];
  const watch = new StreamWatch(
    {
      requestProcessed: (seconds) => void seen.push(`request ${seconds}`),
      responseProcessed: (seconds) => void seen.push(`response ${seconds}`),
      closed: (seconds, reason) => void seen.push(`closed ${seconds} ${reason}`),
    },
    { now: () => now },
    0,
  );
  now = 5;
  watch.answering();
  watch.answering();
  now = 1000;
  watch.responseBegins();
  now += 1;
  watch.pieceEnds();
  for (let piece = 0; piece < 160; piece++) {
    now += 10;
    watch.pieceBegins();
    now += 1;
    watch.pieceEnds();
  }
  watch.closed('ended');
  // Its headers, 8 pieces by themselves, and 9 that stand for 16 each.
  expect(seen).toEqual(['request 0.005', 'response 0.153', 'closed 2.761 ended']);
});
