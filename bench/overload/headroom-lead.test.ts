import { expect, it } from 'vitest';
import { uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { studyServer } from '../scenarios/pools.ts';
import { headroomLead } from './headroom-lead.ts';

it('[Q108] asks for replicas a minute before the first objectives are missed, as demand grows five times (seed 1)', () => {
  const { askedAtMs, missedAtMs } = headroomLead({
    pool: uniformPool(4, studyServer()),
    config: 'default',
    seed: 1,
    perSecond: 50,
    stepAtMs: 130_000,
    overMs: 300_000,
    forMs: 300_000,
    sizes: { promptTokens: 1500, outputTokens: 150 },
  });
  expect(askedAtMs).toBeDefined();
  expect(missedAtMs).toBeDefined();
  expect((missedAtMs ?? 0) - (askedAtMs ?? 0)).toBeGreaterThanOrEqual(60_000);
});
