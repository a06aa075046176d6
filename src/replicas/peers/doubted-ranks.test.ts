import { expect, it } from 'vitest';
import type { EndpointId } from '../../framework/endpoint.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { type Claimant, Doubts } from './doubts.ts';

const ADDRESS = 'a:80';
const RANKS = [0, 1, 2];

/** Who is doubted where others claim so many requests at a server, of which each rank reports one. */
function doubted(claims: number): readonly string[] {
  const clock = new SimulatedClock();
  const pool = new EndpointPool();
  for (const rank of RANKS) {
    const labels = new Map([['pointsman.dev/data-parallel-rank', String(rank)]]);
    pool.upsert({ id: `a-rank-${rank}` as EndpointId, address: ADDRESS, labels });
  }
  const claimant: Claimant = {
    id: 'other',
    addClaims: (all) => void all.set(ADDRESS, claims),
    release: () => undefined,
  };
  const ledger = { occupied: () => claims / RANKS.length, occupiedHere: () => 0 };
  const doubts = new Doubts(clock);
  const found = new Set<string>();
  for (let second = 1; second <= 30; second++) {
    clock.advanceTo(second * 1000);
    for (const { id } of pool.snapshot()) {
      const sampledAt = clock.now();
      pool.observe(id, { waitingQueueSize: 0, runningRequests: 1, kvCacheUsage: 0, sampledAt });
    }
    for (const { id } of doubts.look([claimant], { pool, ledger })) found.add(id);
  }
  return [...found];
}

it('[Q327] compares what is claimed at an address with what all of its ranks report', () => {
  expect(doubted(8 * RANKS.length)).toEqual([]);
  expect(doubted(8 * RANKS.length + 3)).toEqual(['other']);
});
