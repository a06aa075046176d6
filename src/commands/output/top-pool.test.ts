import { expect, it } from 'vitest';
import type { LiveEndpoint } from '../../serve/live/live-message.ts';
import { fittingRows, poolLines } from './top-pool.ts';

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

it('[O506] keeps the age of an old sample where a line has no room for all columns', () => {
  const heads = (state: LiveEndpoint['state'], ageMs: number): string => {
    const sample = { ageMs, running: 8, waiting: 1, kv: 0.3 };
    const row = { ...busy, id: '127.0.0.1:8001', inFlight: 0, lost: undefined, state, sample };
    return poolLines([row as unknown as LiveEndpoint], String, 74)[0] ?? '';
  };
  expect(heads('ejected', 50)).toMatch(/running {2}queue .*hits$/);
  expect(heads('ejected', 19_800)).toMatch(/in flight {2}running {2}queue .*age$/);
});

it('[O515] says a cause that many endpoints have once, with the first of them', () => {
  const at = (port: number, why: string): LiveEndpoint => {
    const address = `10.0.0.1:${port}`;
    return { ...busy, id: `pod-${port}`, address, state: 'not scraped', why };
  };
  const refused = (port: number) =>
    at(port, `http://10.0.0.1:${port}/metrics: connect ECONNREFUSED 10.0.0.1:${port}`);
  const many = Array.from({ length: 1002 }, (_, port) => refused(port));
  const rows = [...many, at(7, 'http://10.0.0.1:7/metrics answered 404')];
  expect(poolLines(rows, String, 200).slice(-2)).toEqual([
    '  pod-0 and 1,001 others are not scraped: /metrics: connect ECONNREFUSED',
    '  pod-7 is not scraped: /metrics answered 404',
  ]);
  expect(fittingRows(rows, 9)).toHaveLength(8);
  // Where it is one, the address may be what is wrong.
  expect(poolLines([refused(8)], String, 200).at(-1)).toMatch(/ECONNREFUSED 10\.0\.0\.1:8$/);
});

it('has a dash where there is no sample', () => {
  const [, line = ''] = poolLines([{ ...busy, sample: null }], String, 200);
  expect(line).toMatch(/ 1,234,567 +- +- +- +10 % +-$/);
});
