import { expect, it } from 'vitest';
import type { LiveEndpoint } from '../../serve/live/live-message.ts';
import { poolLines } from './top-pool.ts';

const busy: LiveEndpoint = {
  id: 'a',
  address: '10.0.0.1:8000',
  inFlight: 1450,
  lost: 1001,
  prefillTokens: 1_234_567,
  sample: { ageMs: 40, running: 1024, waiting: 12_345, kv: 0.5 },
  hitRate: 0.1,
  state: 'ok',
};

it('[O502] marks thousands in the table of endpoints', () => {
  const [, line = ''] = poolLines([busy], String, 200);
  for (const text of ['1,450, 1,001 lost', '1,234,567', ' 1,024 ', '12,345'])
    expect(line).toContain(text);
});

it('has a dash where there is no sample', () => {
  const [, line = ''] = poolLines([{ ...busy, sample: null }], String, 200);
  expect(line).toMatch(/ 1,234,567 +- +- +- +10 % +-$/);
});
