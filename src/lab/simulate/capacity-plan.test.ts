import { describe, expect, it } from 'vitest';
import { createPicker } from '../../index.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { STUDY_OBJECTIVE } from '../run-summary/service-objective.ts';
import type { Workload } from '../traces/workload.ts';
import { type CapacityPlan, capacityPlan, costPerHour } from './capacity-plan.ts';
import { readPool } from './pool-file.ts';
import { renderPlan } from './render-plan.ts';
import { type JobResult, runJob } from './run-job.ts';
import { reshape } from './what-if.ts';

const POOL = readPool('servers: [{count: 2, preset: study, jitter: 0}]', 'pool.yaml');
/** Ten a second over 150 s, 2,000 tokens without anything shared: 80 ms of prefill each. */
const WORKLOAD: Workload = {
  blockTokens: 64,
  requests: Array.from({ length: 1500 }, (_, index) => ({
    atMs: 100 * (index + seededRandom(index).next()),
    model: 'm',
    promptTokens: 2000,
    outputTokens: 20,
    blockIds: Array.from({ length: 31 }, (_block, block) => `${index} ${block}`),
  })),
};

function run(shape?: string, seed = 1): JobResult {
  return runJob(
    {
      name: 'default',
      config: 'default',
      seed,
      speed: 1,
      spreadMs: seed === 1 ? 0 : 50,
      scrapeIntervalMs: 50,
      objective: STUDY_OBJECTIVE,
      findSaturation: true,
      ...(shape !== undefined && { shape }),
    },
    { workload: WORKLOAD, pool: POOL, createPicker },
  );
}

function plan(results: readonly JobResult[], price = 3): CapacityPlan {
  const prices = new Map([['', price]]);
  return capacityPlan(results, { pool: POOL, prices, objective: STUDY_OBJECTIVE });
}

describe('capacityPlan', () => {
  const results = [run(), run('remove-replica'), run('speed×0.05')];
  const told = plan(results);
  const [two, one, slow] = told.rows;

  it('finds the limit where the prompts’ compute says it must be, twice as high on twice the servers', () => {
    // Steps and answers take their part, so that a little less than 1000 / 80 a second fit one server.
    expect(one?.limitPerSecond.mean).toBeGreaterThan(9);
    expect(one?.limitPerSecond.mean).toBeLessThan(12.5);
    const ratio = (two?.limitPerSecond.mean ?? 0) / (one?.limitPerSecond.mean ?? 1);
    expect(ratio).toBeGreaterThan(1.9);
    expect(ratio).toBeLessThan(2.3);
  });

  it('misses the objective just above the limit it names', () => {
    const { saturation } = results[1] ?? {};
    if (saturation?.outcome !== 'found') throw new Error('no limit found');
    const above = saturation.probes.find(({ speed }) => speed > saturation.best.speed);
    expect(above?.meets).toBe(false);
    expect(above?.summary.goodput).toBeLessThan(0.95);
    expect((above?.speed ?? 0) / saturation.best.speed).toBeLessThanOrEqual(1.02);
  });

  it('divides what the pool costs by the tokens that came in time at the limit', () => {
    const { saturation } = results[1] ?? {};
    if (saturation?.outcome !== 'found') throw new Error('no limit found');
    const { goodput } = saturation.best.summary;
    const tokensAnHour = 3600 * saturation.best.requestsPerSecond * goodput * 2020;
    expect(one?.costPerHour).toBe(3);
    expect(one?.costPerMillion.mean).toBeCloseTo(3e6 / tokensAnHour, 6);
    expect(one?.costPerMillionOutput.mean).toBeCloseTo((101 * 3e6) / tokensAnHour, 4);
  });

  it('names the cheapest that carries the load, and says where none does', () => {
    expect([two?.meets, one?.meets]).toEqual([true, true]);
    expect(told.cheapestForLoad).toBe(1);
    expect(slow).toMatchObject({ meets: false, limitIsHigher: false });
    expect(slow?.limitPerSecond.mean).toBe(0);
    expect(slow?.costPerMillion.mean).toBe(Number.POSITIVE_INFINITY);
    const text = renderPlan(told, 'dollars');
    expect(text).toMatch(/speed×0\.05 .* none +– +– +misses the objective\n/);
    expect(text).toContain('none: a sixteenth of this load misses');
  });

  it('has intervals from several draws', () => {
    const [row] = plan([run('remove-replica'), run('remove-replica', 2)]).rows;
    expect(row?.limitPerSecond.plusMinus).toBeGreaterThanOrEqual(0);
    expect(row?.costPerMillion.plusMinus).not.toBeNaN();
  });

  it('takes each accelerator at the price of its preset, and wants one for each', () => {
    const mixed = reshape(POOL, 'preset=llama-3.3-70b-h100-tp4');
    expect(costPerHour(mixed, new Map([['', 2]]))).toBe(16);
    const prices = new Map([['study', 2]]);
    expect(costPerHour(POOL, prices)).toBe(4);
    expect(() => costPerHour(mixed, prices)).toThrow(/no price for llama-3\.3-70b-h100-tp4/);
  });
});
