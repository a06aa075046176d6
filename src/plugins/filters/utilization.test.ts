import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../../../test/makers.ts';
import { utilizationFilter } from './utilization.ts';

const pool = makePool([{ waiting: 5, kv: 0.5 }, { waiting: 6 }, { kv: 0.9, running: 3 }, {}]);
const load = [{}, {}, {}, { requests: 9 }];

function kept(conditions: readonly object[], fallbackOnEmpty = false): readonly string[] {
  const config = utilizationFilter.config.parse({ conditions, fallbackOnEmpty });
  const filter = utilizationFilter.create(config, makeRuntime());
  return filter.filter(pool, makeContext({ load })).map(({ id }) => id);
}

describe('utilization-filter', () => {
  it.each([
    ['waiting-queue', 5, ['pod-0', 'pod-2', 'pod-3']],
    ['kv-cache-utilization', 0.8, ['pod-0', 'pod-1', 'pod-3']],
    ['running-requests', 2, ['pod-0', 'pod-1', 'pod-3']],
    ['active-requests', 8, ['pod-0', 'pod-1', 'pod-2']],
  ] as const)('drops what is above the bound of %s', (metric, maxValue, wanted) => {
    expect(kept([{ metric, maxValue }])).toEqual(wanted);
  });

  it('drops what breaks any condition', () => {
    const conditions = [
      { metric: 'waiting-queue', maxValue: 5 },
      { metric: 'active-requests', maxValue: 0 },
    ];
    expect(kept(conditions)).toEqual(['pod-0', 'pod-2']);
  });

  it('keeps nothing when nothing is within, or all where configured to fall back', () => {
    const never = [{ metric: 'waiting-queue', maxValue: -1 }];
    expect(kept(never)).toEqual([]);
    expect(kept(never, true)).toHaveLength(4);
  });
});
