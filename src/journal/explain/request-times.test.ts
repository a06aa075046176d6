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
