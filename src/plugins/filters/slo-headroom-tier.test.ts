import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../../test/makers.ts';
import { sloHeadroomTierFilter } from './slo-headroom-tier.ts';

const pool = makePool([{}, {}, {}]);
/** The second would take 400 ms more to a first token. */
const load = [{}, { pendingPrefillTokens: 10_000 }, {}];

function kept(fields: { ttftSloMs?: number; tpotSloMs?: number }, epsilonExploreNeg = 0) {
  const config = sloHeadroomTierFilter.config.parse({ epsilonExploreNeg });
  const filter = sloHeadroomTierFilter.create(config, makeRuntime());
  const request = makeRequest({ promptTokens: 640, ...fields });
  return filter.filter(pool, makeContext({ request, load })).map(({ id }) => id);
}

describe('slo-headroom-tier-filter', () => {
  it('keeps those that will meet both objectives', () => {
    expect(kept({ ttftSloMs: 100, tpotSloMs: 50 })).toEqual(['pod-0', 'pod-2']);
  });

  it('keeps all where all will, and where none will', () => {
    expect(kept({ ttftSloMs: 1000, tpotSloMs: 50 })).toHaveLength(3);
    expect(kept({ ttftSloMs: 1000, tpotSloMs: 1 })).toHaveLength(3);
    expect(kept({})).toHaveLength(3);
  });

  it('explores the others as often as configured', () => {
    expect(kept({ ttftSloMs: 100, tpotSloMs: 50 }, 1)).toEqual(['pod-1']);
  });
});
