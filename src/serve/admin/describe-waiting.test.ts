import { expect, test } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import type { Waiting } from '../../flow/discipline.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { describeWaiting } from './describe-waiting.ts';

const waits = (since: number, fields: Partial<InferenceRequest> = {}): Waiting => ({
  request: makeRequest(fields),
  since,
  bytes: 10,
  candidates: 1,
});

test('[Q83] the document of what waits has sums by priority, fairness id and objective, and by endpoint', () => {
  const waiting = [
    waits(100, { fairnessId: 'a' }),
    waits(200, { fairnessId: 'a' }),
    waits(50, { fairnessId: 'b', objective: 'chat', priority: 5 }),
  ];
  const waitedFor = [
    ['e1' as EndpointId, 1, 700, 900] as const,
    ['e2' as EndpointId, 2, 300, 900] as const,
  ];
  expect(describeWaiting(waiting, waitedFor, 1050)).toEqual({
    requests: 3,
    bytes: 30,
    oldestMs: 1000,
    groups: [
      {
        priority: 5,
        fairnessId: 'b',
        objective: 'chat',
        requests: 1,
        bytes: 10,
        oldestMs: 1000,
      },
      { priority: 0, fairnessId: 'a', requests: 2, bytes: 20, oldestMs: 950 },
    ],
    endpoints: [
      { endpoint: 'e2', requests: 2, prefillTokens: 300 },
      { endpoint: 'e1', requests: 1, prefillTokens: 700 },
    ],
  });
});

test('[Q83] the document of what waits does not grow with the fairness ids of clients', () => {
  const many = Array.from({ length: 1000 }, (_, n) => waits(n, { fairnessId: `f${n}` }));
  const { groups, groupsNotShown, requests } = describeWaiting(many, [], 1000);
  expect([groups.length, groupsNotShown, requests]).toEqual([200, 800, 1000]);
  expect(describeWaiting([], [], 0)).toEqual({ requests: 0, bytes: 0, groups: [], endpoints: [] });
});
