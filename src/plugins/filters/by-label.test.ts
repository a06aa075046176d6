import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../../../test/makers.ts';
import { byLabelFilter } from './label-selector.ts';

const pool = makePool([{ labels: { tier: 'gold' } }, { labels: { tier: 'tin' } }, {}]);

function kept(parameters: unknown): readonly number[] {
  const filter = byLabelFilter.create(byLabelFilter.config.parse(parameters), makeRuntime());
  return filter.filter(pool, makeContext()).map(({ slot }) => slot);
}

describe('by-label', () => {
  it('keeps endpoints whose label has one of the values', () => {
    expect(kept({ label: 'tier', validValues: ['gold', 'silver'] })).toEqual([0]);
  });

  it('keeps endpoints without the label when configured to', () => {
    expect(kept({ label: 'tier', validValues: ['gold'], allowsNoLabel: true })).toEqual([0, 2]);
  });

  it('refuses to filter by no label', () => {
    expect(() => byLabelFilter.config.parse({ validValues: ['gold'] })).toThrow();
  });

  it('[D333] refuses to keep no endpoint at all', () => {
    expect(() => byLabelFilter.config.parse({ label: 'tier' })).toThrow('no endpoint could stay');
    expect(kept({ label: 'tier', allowsNoLabel: true })).toEqual([2]);
  });
});
