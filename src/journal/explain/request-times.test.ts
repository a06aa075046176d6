import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import type { Routed } from '../../framework/observer.ts';
import { LastRequestTimes } from './request-times.ts';

it('[O240] has an observed time of streamed answers only: the others come with their last token', () => {
  const times = new LastRequestTimes();
  const answers = [true, false].map((streaming, number): Routed => {
    const request = makeRequest({ id: `streaming ${streaming}`, streaming });
    return { number, request, at: 1000, heldMs: 5, expectedTtftMs: 40 } as unknown as Routed;
  });
  for (const routed of answers) {
    times.onRouted(routed);
    times.onFirstToken(routed, 1100);
  }
  const expected = { waitedMs: 5, predictedTtftMs: 45 };
  expect(times.byId().get('streaming true')).toEqual({ ...expected, observedTtftMs: 105 });
  expect(times.byId().get('streaming false')).toEqual(expected);
});

it('[O532] has the times of requests between which others were refused', () => {
  const times = new LastRequestTimes();
  for (const number of [1, 4]) {
    const request = makeRequest({ id: `request ${number}` });
    times.onRouted({ number, request, at: 0, heldMs: 0, expectedTtftMs: 40 } as unknown as Routed);
  }
  const known = times.byId();
  expect([...known.keys()]).toEqual(['request 1', 'request 4']);
  expect(known.get('request 4')).toEqual({ waitedMs: 0, predictedTtftMs: 40 });
});
