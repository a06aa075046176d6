import { describe, expect, test } from 'vitest';
import { flowLines } from './flow-text.ts';
import type { ExplainedFlow } from './last-flow-stays.ts';

const CAME = {
  priority: 0,
  higher: 2,
  samePriority: 10,
  sameFairnessId: 3,
  endpoints: 4,
  saturation: 1.0204,
  ceiling: 1,
  closedBy: undefined,
};
const FLOW: ExplainedFlow = { priority: 0, fairnessId: 'team-a', waitedMs: 3011.6, came: CAME };

describe('the words about flow control', () => {
  test('[O439] say how long, in which band, behind how many, why, and what let it go', () => {
    const place = { ...CAME, saturation: 0.98 };
    const left = { kind: 'let-go', after: ['end', 'sample'], place } as const;
    expect(flowLines({ ...FLOW, left })).toEqual([
      '3,012 ms in flow control: priority 0, fairness id team-a',
      'when it came, the saturation of the pool was 1.02: requests of its priority wait until it is below 1',
      '2 requests with a higher priority and 10 requests with its priority (3 with its fairness id) waited already',
      'let go when another request ended, and a new sample of an endpoint came; the saturation of the pool was 0.98',
    ]);
  });

  test.each([
    [{ endpoints: 0 }, 'when it came, the pool had no endpoint'],
    [
      { closedBy: 7, saturation: 0.9 },
      'when it came, the saturation of the pool was 0.9, and priority 7 was closed, which closes all below it',
    ],
    [{ ceiling: 0 }, 'when it came, its priority was closed by the configuration'],
    [
      { saturation: 0.5 },
      'when it came, the saturation of the pool was 0.5, and others had their turn',
    ],
  ])('[O439] say why it was not let go: %j', (came, words) => {
    expect(flowLines({ ...FLOW, came: { ...CAME, ...came } })[1]).toBe(words);
  });

  test('[O439] name nothing that did not wait', () => {
    const none = { higher: 0, samePriority: 0, sameFairnessId: 0 };
    const before = (came: object): string | undefined =>
      flowLines({ ...FLOW, came: { ...CAME, ...none, ...came } })[2];
    expect(before({})).toBe('no other waited then');
    expect(before({ higher: 1 })).toBe('1 request with a higher priority waited already');
  });

  test('[O439] give the status, the reason and the sentence of a refusal', () => {
    const why = 'the queue is full: it holds at most 500 requests with priority 0';
    const left = { kind: 'refused', status: 429, reason: 'rejected-saturated', why } as const;
    expect(flowLines({ priority: 0, fairnessId: 'a', waitedMs: 0, left })).toEqual([
      '0 ms in flow control: priority 0, fairness id a',
      `refused with 429 (rejected-saturated): ${why}`,
    ]);
    expect(flowLines({ ...FLOW, left }).at(-1)).toBe(
      `refused with 429 (rejected-saturated): ${why}`,
    );
  });
});
