import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { TraceShape } from '../traces/shape-trace.ts';
import type { JobResult, SimulationJob } from './run-job.ts';

/** What a worker loads once and keeps: where the workload and pool of all its jobs come from. */
export interface JobSource {
  readonly trace: string;
  /** The trace's format, where it shall not be told from the first line. */
  readonly from?: string | undefined;
  readonly pool: string;
  /** Modules with plugin types of their own. */
  readonly plugins: readonly string[];
  readonly lenient: boolean;
  readonly shape: TraceShape;
  /** Whether a turn of a conversation waits for the answer before it. */
  readonly closedLoop: boolean;
}

export interface RunJobsOptions {
  readonly source: JobSource;
  readonly jobs: readonly SimulationJob[];
  /** Beside one another; as many as there are processors unless said. */
  readonly parallel?: number | undefined;
  readonly onResult?: (result: JobResult) => void;
}

/** Runs jobs in threads of their own; results come in the order of the jobs, however long each took. */
export async function runJobs({
  source,
  jobs,
  parallel = availableParallelism(),
  onResult,
}: RunJobsOptions): Promise<readonly JobResult[]> {
  const results: (JobResult | undefined)[] = jobs.map(() => undefined);
  const left = jobs.map((job, index) => ({ job, index })).reverse();
  // Sources or their build, whichever this file is of.
  const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js';
  const file = new URL(`./worker.${extension}`, import.meta.url);
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
