import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../../test/makers.ts';
import { headerBasedTestingFilter } from './header-based-testing.ts';

const [a, b, c, d] = makePool([{}, {}, {}, {}]);
const pool = [
  { ...a, address: '10.0.0.1:8000' },
  { ...b, address: '10.0.0.2:8000' },
  { ...c, address: '10.0.0.2:8001' },
  { ...d, address: '[fd00::1]:8000' },
] as NonNullable<typeof a>[];

function kept(header: string | undefined, like: 'epp' | 'lwepp' = 'epp'): readonly string[] {
  const filter = headerBasedTestingFilter.create({ like }, makeRuntime());
  const headers = new Map(header === undefined ? [] : [['test-epp-endpoint-selection', header]]);
  return filter
    .filter(pool, makeContext({ request: makeRequest({ headers }) }))
    .map(({ address }) => address);
}

describe('header-based-testing-filter', () => {
  it.each([
    [undefined, []],
    [' ', []],
    ['10.0.0.9', []],
    ['10.0.0.2, 10.0.0.1:8000', ['10.0.0.2:8000', '10.0.0.1:8000']],
    ['10.0.0.2:8001,10.0.0.2:8000', ['10.0.0.2:8001']],
    ['fd00::1', ['[fd00::1]:8000']],
    ['[fd00::1]', ['[fd00::1]:8000']],
    ['[fd00::1]:8000', ['[fd00::1]:8000']],
    ['10.0.0.1:9', []],
  ])('keeps for “%s” %j', (header, wanted) => {
    expect(kept(header)).toEqual(wanted);
  });

  it.each([
    [undefined, pool.map(({ address }) => address)],
    [' ', pool.map(({ address }) => address)],
    ['10.0.0.9', []],
    ['10.0.0.2', ['10.0.0.2:8000', '10.0.0.2:8001']],
    ['10.0.0.2:8001,10.0.0.1', ['10.0.0.1:8000', '10.0.0.2:8001']],
    ['fd00::1', ['[fd00::1]:8000']],
    ['10.0.0.1:9', []],
  ])('keeps, like the suite’s own picker, for “%s” %j', (header, wanted) => {
    expect(kept(header, 'lwepp')).toEqual(wanted);
  });
});
