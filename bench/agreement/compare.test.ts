import { describe, expect, it } from 'vitest';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import type { CaptureRecord } from '../../src/journal/capture/capture-record.ts';
import { CAPTURE_HEAD, capturedRequest, capturedServer } from '../../test/captured-records.ts';
import { type Agreement, agreementOf, type Pages } from './compare.ts';
import { type Hold, type Readable, readableIn } from './held-pages.ts';

const CONFIG = NAMED_CONFIGS.get('reference-default') ?? '';
const SECOND_MS = 1000;

/** One request that went to this endpoint, `n` seconds after the start; its size is its number. */
const request = (n: number, endpoint: string): CaptureRecord =>
  capturedRequest(n, { t: SECOND_MS * n, bodyBytes: n, d: { endpoint, score: 1 } });

/** Two servers, and one request to each of these. */
const capture = (...chosen: readonly string[]): readonly CaptureRecord[] => [
  CAPTURE_HEAD,
  capturedServer('a'),
  capturedServer('b'),
  ...chosen.map((endpoint, n) => request(n, endpoint)),
];

/** Pages on which these numbers of requests wait at `a` and `b`, and those of each request. */
const pages = (
  waiting: readonly (readonly [a: number, b: number])[],
  ...readable: readonly Readable[]
): Pages => ({
  said: waiting.map(
    ([a, b]) =>
      new Map([
        ['a', [a, 0, 0]],
        ['b', [b, 0, 0]],
      ]),
  ),
  readable: ({ bodyBytes }) => readable[bodyBytes] ?? { first: 0, last: 0 },
});

const others = ({ others: all }: Agreement): readonly number[] => all.map(({ n }) => n);

describe('agreement of a configuration with recorded decisions', () => {
  it('[D132] counts the same endpoints, and names decisions without an explanation', async () => {
    const result = await agreementOf(capture('a', 'b', 'a'), CONFIG, pages([[1, 2]]));
    expect(result).toMatchObject({
      decisions: 3,
      same: 2,
      ties: 0,
      scrapes: 0,
      byChance: 1.5,
      still: { decisions: 3, alike: 2, byChance: 1.5 },
      sole: { decisions: 3, alike: 2 },
    });
    expect(result.others).toMatchObject([
      { n: 1, was: { endpoint: 'b' }, is: { endpoint: 'a' }, standing: { candidates: 2 } },
    ]);
  });

  it('[D132] takes another endpoint with the same score for a tie', async () => {
    const equal = await agreementOf(capture('a', 'b', 'a', 'b'), CONFIG, pages([[5, 5]]));
    expect([equal.same + equal.ties, others(equal)]).toEqual([4, []]);
    expect(equal.ties).toBeGreaterThan(0);
  });

  it('[D479] explains by an earlier page only what it was readable for', async () => {
    // The first page sends requests to `b`, the second to `a`.
    const both = pages(
      [
        [9, 2],
        [1, 2],
      ],
      { first: 0, last: 1 },
      { first: 1, last: 1 },
    );
    const result = await agreementOf(capture('b', 'b'), CONFIG, both);
    expect(result).toMatchObject({
      scrapes: 1,
      still: { decisions: 1, alike: 0 },
      sole: { decisions: 1, alike: 0 },
    });
    expect(others(result)).toEqual([1]);
  });

  it('[D479] takes the page of each server by itself', async () => {
    // No page sends a request to `b`; the second one of `a` beside the first one of `b` does.
    const mixed = pages(
      [
        [1, 2],
        [4, 5],
      ],
      { first: 0, last: 1 },
    );
    expect(await agreementOf(capture('b'), CONFIG, mixed)).toMatchObject({ scrapes: 1 });
  });

  it('[D492] says what picks at random would be explained to, and which decisions allow one endpoint', async () => {
    const changing = pages(
      [
        [9, 2],
        [1, 2],
      ],
      { first: 0, last: 0 },
      { first: 0, last: 1 },
    );
    expect(await agreementOf(capture('b', 'b'), CONFIG, changing)).toMatchObject({
      others: [],
      byChance: 0.5 + 1,
      sole: { decisions: 1, alike: 1 },
    });
    const wrong = await agreementOf(capture('b', 'b', 'a', 'b'), CONFIG, pages([[1, 2]]));
    expect(wrong).toMatchObject({ byChance: 2, sole: { decisions: 4, alike: 1 } });
  });

  it('[D479] reads for a request what both pickers knew when it was sent, up to what was taken before its answer', () => {
    const hold = (takenFrom: number, settledAt: number | undefined): Hold => ({
      takenFrom,
      takenBy: takenFrom + 1,
      settledAt,
    });
    const holds = [hold(0, 10), hold(100, 150), hold(200, undefined)];
    expect(readableIn(holds, 20, 90)).toEqual({ first: 0, last: 0 });
    expect(readableIn(holds, 20, 101)).toEqual({ first: 0, last: 1 });
    expect(readableIn(holds, 140, 180)).toEqual({ first: 0, last: 1 });
    expect(readableIn(holds, 160, 180)).toEqual({ first: 1, last: 1 });
    expect(readableIn(holds, 210, 220)).toEqual({ first: 1, last: 2 });
  });
});
