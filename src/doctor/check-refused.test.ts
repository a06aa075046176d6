import { expect, it } from 'vitest';
import { checkRefused } from './check-refused.ts';

it('[O542] doctor says which share of requests the picker refused, and why, but for errors of clients', () => {
  const refused = {
    '429 memory-full': 1200,
    '503 rejected-no-endpoints': 34,
    '400 bad-json': 5000,
  };
  const [finding, ...others] = checkRefused({ decided: 1234, refused });
  expect(others).toEqual([]);
  expect(finding).toMatchObject({ severity: 'warning', id: 'requests-refused' });
  expect(finding?.what).toBe(
    'of 2,468 requests of the last five minutes it has refused 1,234 (50 %): 1,200 × 429 memory-full, 34 × 503 rejected-no-endpoints.',
  );
  expect(checkRefused({ decided: 1000, refused: { '429 memory-full': 9 } })).toEqual([]);
  expect(
    checkRefused({ decided: 0, refused: { '429 memory-full': 2, '400 bad-json': 9 } }),
  ).toEqual([]);
  // Earlier versions do not say it.
  expect(checkRefused(undefined)).toEqual([]);
});
