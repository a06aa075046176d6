import { describe, expect, it } from 'vitest';
import { createPicker } from '../../index.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { STUDY_OBJECTIVE } from '../run-summary/service-objective.ts';
import type { Workload } from '../traces/workload.ts';
import { readPool } from './pool-file.ts';
import { renderPlan } from './render-plan.ts';
import { type JobResult, runJob } from './run-job.ts';
import { costPerHour, type ServerPlan, serverPlan } from './server-plan.ts';
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

function run(shape?: string, seed = 1): Promise<JobResult> {
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

/** A result whose million tokens cost so much on two servers at 3 an hour each. */
function withCost(shape: string, seed: number, cost: number): JobResult {
  const base = results[0] as JobResult;
  if (base.saturation?.outcome !== 'found') throw new Error('no limit found');
  const goodTokensPerSecond = (2 * 3 * 1e6) / (3600 * cost);
  const best = { ...base.saturation.best, goodTokensPerSecond };
  const { shape: _shape, ...job } = base.job;
  return {
    ...base,
    job: { ...job, seed, ...(shape !== '' && { shape }) },
    saturation: { ...base.saturation, best },
  };
}

function plan(results: readonly JobResult[], price = 3): ServerPlan {
  const prices = new Map([['', price]]);
  return serverPlan(results, { pool: POOL, prices, objective: STUDY_OBJECTIVE });
}

const results = [await run(), await run('remove-replica'), await run('speed×0.05')];

describe('serverPlan', () => {
  const told = plan(results);
  const [two, one, slow] = told.rows;

  it('finds the limit where the prompts’ compute says it must be, twice as high on twice the servers', () => {
    // Steps and answers take their part, so that a little less than 1000 / 80 a second fit one
    // server.
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

  it('[G266] says the load of a trace with long pauses in digits that count', () => {
    const [row, ...others] = told.rows;
    if (row === undefined) throw new Error('the plan has no row');
    const rare = { ...told, rows: [{ ...row, requestsPerSecond: 0.000_017_36 }, ...others] };
    expect(renderPlan(rare, 'dollars')).toContain('; this load: 0.0000174 requests/s;');
  });

  it('has intervals from several draws', async () => {
    const [row] = plan([await run('remove-replica'), await run('remove-replica', 2)]).rows;
    expect(row?.limitPerSecond.plusMinus).toBeGreaterThanOrEqual(0);
    expect(row?.costPerMillion.plusMinus).not.toBeNaN();
  });

  it('[O274] shows no interval from fewer than five draws', () => {
    const draws = (costs: readonly number[]): string =>
      renderPlan(plan(costs.map((cost, index) => withCost('', index + 1, cost))), '$');
    expect(draws([10, 14])).not.toContain('±');
    expect(draws([10, 14, 12, 11, 13])).toContain('±');
  });

  it('[O42] calls a pool cheapest only where no other is as cheap within the noise', () => {
    const priced = (shape: string, costs: readonly number[]): readonly JobResult[] =>
      costs.map((cost, index) => withCost(shape, index + 1, cost));
    const clear = plan([...priced('', [10, 12, 11]), ...priced('kv×2', [20, 22, 21])]);
    expect(clear).toMatchObject({ cheapestPerToken: 0, asCheap: [] });
    expect(renderPlan(clear, '$')).toMatch(/, cheapest per token\n/);
    const noisy = plan([...priced('', [10, 12, 11]), ...priced('kv×2', [11, 11, 12])]);
    expect(noisy).toMatchObject({ cheapestPerToken: 0, asCheap: [1] });
    const text = renderPlan(noisy, '$');
    expect(text).not.toContain('cheapest per token');
    expect(text).toContain('lowest cost per token, within the noise');
    expect(text).toContain('as cheap per token, within the noise');
    const once = plan([...priced('', [10]), ...priced('kv×2', [20])]);
    expect(renderPlan(once, '$')).toContain('lowest cost per token in this one draw');
  });

  it('[O42] calls no pool the cheapest for a load that it carries by chance', () => {
    const at = (seed: number, goodput: number): JobResult => {
      const { summary, ...rest } = withCost('', seed, 1);
      return { ...rest, summary: { ...summary, goodput } };
    };
    const [row] = plan([at(1, 0.99), at(2, 0.92)]).rows;
    expect(row).toMatchObject({ meets: true, mayBeChance: true });
    const text = renderPlan(plan([at(1, 0.99), at(2, 0.92)]), '$');
    expect(text).toContain('meets the objective, which may be chance');
    expect(text).not.toContain('cheapest that carries');
  });

  it('takes each accelerator at the price of its preset, and needs one for each', () => {
    const mixed = reshape(POOL, 'preset=llama-3.3-70b-h100-tp4');
    expect(costPerHour(mixed, new Map([['', 2]]))).toBe(16);
    const prices = new Map([['study', 2]]);
    expect(costPerHour(POOL, prices)).toBe(4);
    expect(() => costPerHour(mixed, prices)).toThrow(/no price for llama-3\.3-70b-h100-tp4/);
  });
});
