import { describe, expect, it } from 'vitest';
import { PRESETS } from '../../../stub-server/presets/presets.ts';
import { createPicker } from '../../index.ts';
import { uniformPool } from './pool-spec.ts';
import { simulate } from './simulate.ts';

const SERVERS = 8;
const REQUESTS = 160;
/** Slower than the prior of the cost model says, and no answer takes as long as the one before. */
const SERVER = {
  labels: {},
  latency: PRESETS.study.latency,
  kvTokens: 200_000,
  sequencesMax: 64,
  batchedTokensMax: 8192,
  admissionMs: 15,
  jitter: 0.05,
};

/** How many of requests that come one after another each of equal servers gets. */
function requestsOfEach(promptTokens: number, everyMs: number, seed: number): readonly number[] {
  const requests = Array.from({ length: REQUESTS }, (_, at) => ({
    atMs: 200 + everyMs * at,
    model: 'm',
    promptTokens,
    outputTokens: 20,
    blockIds: [1000 + at],
  }));
  const workload = { blockTokens: 64, requests };
  const pool = uniformPool(SERVERS, SERVER);
  const result = simulate({ workload, pool, config: 'default', createPicker, seed });
  const counts = Array.from({ length: SERVERS }, () => 0);
  for (const { server } of result.requests) counts[server] = (counts[server] ?? 0) + 1;
  return counts;
}

describe('the default policy at light load', () => {
  it.each([
    [20, 500],
    [200, 2000],
    [2000, 5000],
  ])(
    '[Q195] spreads requests with nothing in common over equal idle servers: %i tokens every %i ms',
    (promptTokens, everyMs) => {
      for (const seed of [1, 2, 3]) {
        const counts = requestsOfEach(promptTokens, everyMs, seed);
        expect(Math.max(...counts), `seed ${seed}: ${counts.join()}`).toBeLessThanOrEqual(
          (1.5 * REQUESTS) / SERVERS,
        );
      }
    },
  );
});
