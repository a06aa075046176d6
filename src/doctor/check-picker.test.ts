import { expect, it } from 'vitest';
import { checkPicker, type DescribedEndpoint } from './check-picker.ts';

const READY = { status: 200, text: '{}' };
const WELL: DescribedEndpoint = {
  id: 'a',
  address: '10.0.0.1:8000',
  metricsAgeMs: 50,
  ejected: false,
  scrapes: { state: 'working' },
};

function failing(failure: string, reason: string): DescribedEndpoint {
  const scrapes = { state: 'failing', lastError: { failure, reason } };
  return { ...WELL, metricsAgeMs: 9000, scrapes };
}

it('[O533] names servers that neither requests nor scrapes reach once, with both causes, as an error from half of the pool on', () => {
  const ejected = { reason: 'silent', why: 'it answered nothing', since: 'noon' };
  const down = { ...failing('unreachable', 'other side closed'), ejected };
  const findingsOf = (wells: number) =>
    checkPicker({ ready: READY, endpoints: [down, ...Array.from({ length: wells }, () => WELL)] });
  const [finding, ...others] = findingsOf(1);
  expect(others).toEqual([]);
  expect(finding).toMatchObject({ severity: 'error', id: 'endpoint-down' });
  expect(finding?.what).toBe(
    'neither requests nor scrapes reach them: 10.0.0.1:8000 (it answered nothing, since noon; 9.0 s old, unreachable: other side closed).',
  );
  expect(findingsOf(2)).toMatchObject([{ severity: 'warning', id: 'endpoint-down' }]);
});

it('[O533] says of metrics why they are old, also where the endpoint is ejected, and what to do about a page that is there', () => {
  const ejected = { reason: 'failure-share', why: 'too many failed', since: 'noon' };
  const unread = { ...failing('no-series', 'no series of a known engine'), ejected };
  const [old, out] = checkPicker({ ready: READY, endpoints: [unread, WELL, WELL] });
  expect(old?.what).toMatch(/\(9\.0 s old, no-series: no series of a known engine\)/);
  expect(old?.mend).toMatch(/^Their pages are there and cannot be used/);
  expect(out?.what).toBe('ejected: 10.0.0.1:8000 (too many failed, since noon).');
  const refused = failing('status', 'it answered 401');
  const [way] = checkPicker({ ready: READY, endpoints: [refused, WELL] });
  expect(way?.mend).toMatch(/^Let the picker reach \/metrics/);
});
