import { describe, expect, it } from 'vitest';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import type { CaptureRecord } from '../../src/journal/capture/capture-record.ts';
import { agreementOf, withSamples } from './compare.ts';

const CONFIG = NAMED_CONFIGS.get('reference-default') ?? '';
const SECOND_MS = 1000;

const sample = (id: string, waiting: number, at: number): CaptureRecord => ({
  e: 'm',
  id,
  m: [waiting, 0, 0, at],
});

/** One request that went to this endpoint, `n` seconds after the start. */
const request = (n: number, endpoint: string): CaptureRecord => ({
  e: 'q',
  t: SECOND_MS * n,
  n,
  r: {
    id: `r${n}`,
    model: 'm',
    streaming: false,
    promptTokens: 10,
    blockTokens: 64,
    blocks: [],
    priority: 0,
    fairness: 'default-flow',
    bodyBytes: 40,
  },
  firstTokenSeen: false,
  endSeen: true,
  d: { endpoint, score: 1 },
});

const head: CaptureRecord = {
  e: 'capture',
  version: 3,
  seed: 1,
  config: { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig', plugins: [] },
  wallMs: 0,
  t: 0,
  file: 0,
};
const server = (id: string): CaptureRecord => ({
  e: '+',
  id,
  address: `${id}:8000`,
  labels: {},
});

/** Two servers, of which the second has the longer queue, and one request to each of these. */
const capture = (...chosen: readonly string[]): readonly CaptureRecord[] => [
  head,
  server('a'),
  server('b'),
  ...chosen.flatMap((endpoint, n) => [
    sample('a', 1, SECOND_MS * n),
    sample('b', 2, SECOND_MS * n),
    request(n, endpoint),
  ]),
];

describe('agreement of a configuration with recorded decisions', () => {
  it('[D132] counts the same endpoints, and names decisions without an explanation', async () => {
    expect(await agreementOf(capture('a', 'b', 'a'), CONFIG)).toEqual({
      decisions: 3,
      same: 2,
      ties: 0,
      scrapes: 0,
      others: [1],
      byChance: 1.5,
      sole: { decisions: 3, same: 2 },
    });
  });

  it('[D132] takes another endpoint with the same score for a tie', async () => {
    const equal = capture('a', 'b', 'a', 'b').map((record) =>
      record.e === 'm' ? sample(record.id, 5, record.m[3]) : record,
    );
    const { same, ties, others } = await agreementOf(equal, CONFIG);
    expect([same + ties, others]).toEqual([4, []]);
    expect(ties).toBeGreaterThan(0);
  });

  it('[D132] explains by a scrape between the two pickers what a sample earlier or later would do', async () => {
    const records = [
      ...capture('a', 'b'),
      sample('a', 9, 2 * SECOND_MS),
      sample('b', 2, 2 * SECOND_MS),
      request(2, 'b'),
    ];
    expect(await agreementOf(records, CONFIG)).toMatchObject({ same: 2, scrapes: 1, others: [] });
  });

  it('[D492] says what picks at random would be explained to, and which decisions allow one endpoint', async () => {
    const change = [sample('a', 9, 3 * SECOND_MS), sample('b', 2, 3 * SECOND_MS)];
    const records = [...capture('a', 'b', 'b'), ...change, request(3, 'b')];
    // All but the first may have been made by a sample on the other side of the change.
    expect(await agreementOf(records, CONFIG)).toMatchObject({
      others: [],
      byChance: 0.5 + 1 + 1 + 1,
      sole: { decisions: 1, same: 1 },
    });
    const wrong = await agreementOf(capture('b', 'b', 'a', 'b'), CONFIG);
    expect(wrong).toMatchObject({ byChance: 2, sole: { decisions: 4, same: 1 } });
  });

  it('moves samples of the named servers only', () => {
    const records = [sample('a', 1, 1), sample('b', 1, 1), sample('a', 2, 2), sample('a', 3, 3)];
    const [a2, b1, a3, last] = withSamples(records, -1, new Set(['a']));
    expect([a2, b1, a3, last]).toEqual([records[2], records[1], records[3], records[3]]);
    expect(withSamples(records, 1, new Set(['a']))).toEqual([
      records[0],
      records[1],
      records[0],
      records[2],
    ]);
  });
});
