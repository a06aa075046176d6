import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { programFile } from '../../files/folders.ts';
import type { LoadOptions } from '../traces/reading/load-trace.ts';
import type { JobResult, SimulationJob } from './run-job.ts';

/** The workload and the pool of all jobs of a worker, which it loads once; files by their paths. */
export interface JobSource extends Omit<LoadOptions, 'sessions' | 'onCaptureProgress'> {
  readonly trace: string;
  readonly pool: string;
  /** Modules with plugin types. */
  readonly plugins: readonly string[];
  /** Whether a turn of a conversation waits for the answer before it. */
  readonly closedLoop: boolean;
}

interface RunJobsOptions {
  readonly source: JobSource;
  readonly jobs: readonly SimulationJob[];
  /** Number of jobs at once; the number of processors if not given. */
  readonly parallel?: number | undefined;
  readonly onResult?: (result: JobResult) => void;
}

/** Runs jobs in worker threads. The results are in the order of the jobs. */
export async function runJobs(options: RunJobsOptions): Promise<readonly JobResult[]> {
  const { source, jobs, parallel = availableParallelism(), onResult } = options;
  const results: (JobResult | undefined)[] = jobs.map(() => undefined);
  const left = jobs.map((job, index) => ({ job, index })).reverse();
  const file = programFile('src/lab/simulate/worker');
  const work = async (): Promise<void> => {
    const worker = new Worker(file, { workerData: source });
    try {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const result = await ask(worker, next.job);
        results[next.index] = result;
        onResult?.(result);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, jobs.length) }, work));
  return results as readonly JobResult[];
}

function ask(worker: Worker, job: SimulationJob): Promise<JobResult> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (result: JobResult) => {
      worker.off('error', reject);
      resolve(result);
    });
    worker.postMessage(job);
  });
}
