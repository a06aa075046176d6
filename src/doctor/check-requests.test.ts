import { expect, it } from 'vitest';
import { checkPicker, type DescribedEndpoint } from './check-picker.ts';
import type { LatestRequests } from './check-requests.ts';

function endpointAt(address: string, latest?: LatestRequests): DescribedEndpoint {
  const well = { id: address, metricsAgeMs: 50, ejected: false, scrapes: { state: 'working' } };
  return { ...well, address, ...(latest && { latest }) } as DescribedEndpoint;
}

const failing = (requests: number, failed: Readonly<Record<string, number>>): LatestRequests => ({
  requests,
  failed,
  sentElsewhere: 0,
  ...(Object.keys(failed).length > 0 && {
    lastFailed: `2026-12-01T00:00:${10 + (requests % 50)}.000Z`,
  }),
});
const findingsOf = (endpoints: readonly DescribedEndpoint[]) =>
  checkPicker({ ready: { status: 200, text: '{}' }, endpoints });

it('[O539] doctor says which share of the latest requests failed, at which servers, and with what', () => {
  const [finding, ...others] = findingsOf([
    endpointAt('a:1', failing(301, { 500: 20, broken: 100 })),
    endpointAt('b:1', failing(300, { 503: 2 })),
    endpointAt('c:1', failing(304, {})),
  ]);
  expect(others).toEqual([]);
  expect(finding).toMatchObject({
    severity: 'error',
    id: 'requests-fail',
    where: '2 of 3 endpoints',
  });
  expect(finding?.what).toBe(
    'of the requests that ended in the last five minutes, at most the last 4,096, 122 of 905 (13 %) failed at model servers, the last one at 2026-12-01T00:00:11.000Z: a:1 120 of 301 (40 %) (100 × broken, 20 × status 500), b:1 2 of 300 (1 %) (2 × status 503).',
  );
  expect(finding?.mend).toMatch(/^Look at the logs of these servers, and ask one of them/);
});

it('[O539] doctor warns of a few failures, is silent about single ones, and says where all servers fail', () => {
  const pool = (failed: number, others: number) => [
    endpointAt('a:1', failing(1000, { 'no answer': failed })),
    ...Array.from({ length: 4 }, (_, at) => endpointAt(`b${at}:1`, failing(1000, { 500: others }))),
  ];
  expect(findingsOf(pool(2, 0))).toEqual([]);
  expect(findingsOf(pool(3, 0))).toMatchObject([
    { severity: 'warning', what: expect.stringContaining('3 of 5,000 (less than 1 %) failed') },
  ]);
  const [all] = findingsOf(pool(600, 600));
  expect(all?.what).toMatch(/ and 2 more\.$/);
  expect(all?.mend).toMatch(/^All fail: /);
  // Earlier versions, and a picker that keeps no decisions, do not say it.
  expect(findingsOf([endpointAt('a:1')])).toEqual([]);
});
