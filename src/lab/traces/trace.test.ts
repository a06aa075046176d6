import { expect, it } from 'vitest';
import { describeReading } from './trace.ts';

it.each([
  [1, 0, '1 request over 0 ms, prompts'],
  [2, 500, '2 requests over 500 ms (4.00/s), prompts'],
  [30, 1770, '30 requests over 1,770 ms (16.9/s), prompts'],
  [200_000, 10_000, '200,000 requests over 10 s (20,000/s), prompts'],
  [5, 4e9, '5 requests over 46.3 days (0.00000125/s), prompts'],
])(
  '[O336] [O502] says what a trace is like without powers of ten, and one request as one: %i in %i ms',
  (requests, spanMs, said) => {
    const means = { promptTokensMean: 10, outputTokensMean: 10 };
    const [first] = describeReading({ requests, spanMs, ...means, repaired: 0, notes: [] });
    expect(first?.slice(0, said.length)).toBe(said);
  },
);
