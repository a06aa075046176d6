import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createPicker } from '../../index.ts';
import { STUDY_OBJECTIVE } from '../run-summary/service-objective.ts';
import { loadTrace } from '../traces/reading/load-trace.ts';
import { jobShare } from './job-share.ts';
import { readPool } from './pool-file.ts';
import { runJob, type SimulationJob } from './run-job.ts';
import { type JobsProgress, runJobs } from './run-jobs.ts';

const REQUESTS = 20;
const POOL = 'servers: [{ count: 2 }]\n';
const folder = mkdtempSync(join(tmpdir(), 'pointsman-run-jobs-'));
afterAll(() => rmSync(folder, { recursive: true }));
const trace = join(folder, 'trace.jsonl');
const pool = join(folder, 'pool.yaml');
const line = (at: number): string =>
  `{"timestamp":${5000 * at},"input_length":100,"output_length":5}\n`;
writeFileSync(trace, Array.from({ length: REQUESTS }, (_, at) => line(at)).join(''));
writeFileSync(pool, POOL);
const reading = { lenient: false, shape: { merge: [], shiftMs: 0, loop: 1, thin: 1 } };

const job = (seed: number): SimulationJob => ({
  name: 'default',
  config: 'default',
  seed,
  speed: 1,
  spreadMs: 0,
  scrapeIntervalMs: 50,
  objective: STUDY_OBJECTIVE,
});

async function sharesOf(more: Partial<SimulationJob>): Promise<readonly number[]> {
  const shares: number[] = [];
  const workload = loadTrace(trace, reading);
  const parts = { workload, pool: readPool(POOL, 'pool.yaml'), createPicker };
  await runJob({ ...job(1), ...more }, { ...parts, onShare: (share) => shares.push(share) });
  return shares;
}

it('[G304] a simulation tells after each request how much of it is done', async () => {
  const each = Array.from({ length: REQUESTS }, (_, index) => (index + 1) / REQUESTS);
  expect(await sharesOf({})).toEqual(each);
});

it('[G304] a search for the highest load is never at its end before it is, and goes never back', async () => {
  const shares = await sharesOf({ findSaturation: true });
  expect(shares.length).toBeGreaterThanOrEqual(2 * REQUESTS);
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(shares.at(-1)).toBeLessThan(1);
  expect(jobShare(0, true)).toBe(0);
});

it('[G304] several simulations say how far all of them are, from within each', async () => {
  const heard: JobsProgress[] = [];
  const source = { ...reading, trace, pool, plugins: [], closedLoop: false };
  const jobs = [job(1), job(2)];
  const onProgress = (progress: JobsProgress): number => heard.push(progress);
  const results = await runJobs({ source, jobs, parallel: 1, onProgress });
  expect(results.map((each) => each.job.seed)).toEqual([1, 2]);
  // The end of each job's first request is told at once, whatever the clock says.
  expect(heard[0]).toEqual({ finished: 0, done: 1 / REQUESTS });
  expect(heard).toContainEqual({ finished: 1, done: 1 + 1 / REQUESTS });
  expect(heard.at(-1)).toEqual({ finished: 2, done: 2 });
});
