import { expect, it } from 'vitest';
import { PRESETS } from '../../../stub-server/presets/presets.ts';
import { createPicker } from '../../index.ts';
import { readPool } from './pool-file.ts';
import { type ServerSpec, uniformPool } from './pool-spec.ts';
import { simulate } from './simulate.ts';

const SERVER: Omit<ServerSpec, 'id'> = {
  labels: {},
  latency: PRESETS.study.latency,
  kvTokens: 400_000,
  sequencesMax: 64,
  batchedTokensMax: 8192,
  admissionMs: 15,
  jitter: 0.05,
};
const [FIRST, ...OTHERS] = uniformPool(4, SERVER).servers as [ServerSpec, ...ServerSpec[]];
const POOL = { servers: [{ ...FIRST, contextTokensMax: 2048 }, ...OTHERS], faults: [] };
const requests = Array.from({ length: 200 }, (_, at) => ({
  atMs: 200 + 100 * at,
  model: 'm',
  promptTokens: at % 2 === 0 ? 300 : 3000,
  outputTokens: 20,
  blockIds: [1000 + at],
}));

it.each([1, 2, 3])(
  '[Q272] a server with a short context window refuses one long request, draw %i',
  (seed) => {
    const refusedOf = (config: string): number => {
      const workload = { blockTokens: 64, requests };
      const run = simulate({ workload, pool: POOL, config, createPicker, seed });
      expect(
        run.requests.filter(({ completed, request }) => !completed && request.promptTokens < 2048),
      ).toEqual([]);
      return run.requests.filter(({ completed }) => !completed).length;
    };
    expect(refusedOf('default')).toBeLessThanOrEqual(1);
    // It knows of no windows.
    expect(refusedOf('round-robin')).toBe(50);
  },
);

it('[Q272] a pool file says which servers have a short context window', () => {
  const { servers } = readPool('servers: [{contextTokensMax: 2048}, {}]', 'pool.yaml');
  expect(servers.map((each) => each.contextTokensMax)).toEqual([2048, undefined]);
});
