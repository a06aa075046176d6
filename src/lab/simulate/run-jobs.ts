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
  readonly onProgress?: (progress: JobsProgress) => void;
}

/** How far all jobs are. */
export interface JobsProgress {
  readonly finished: number;
  /** The jobs that have finished, and the shares of those that run: 1.5 after one and a half. */
  readonly done: number;
}

/** What a worker says of its job: the share that is done, from 0 to 1, and at last the result. */
export type WorkerMessage = { readonly share: number } | { readonly result: JobResult };

/** Runs jobs in worker threads. The results are in the order of the jobs. */
export async function runJobs(options: RunJobsOptions): Promise<readonly JobResult[]> {
  const { source, jobs, parallel = availableParallelism(), onProgress } = options;
  const results: (JobResult | undefined)[] = jobs.map(() => undefined);
  const left = jobs.map((job, index) => ({ job, index })).reverse();
  const shares = jobs.map(() => 0);
  let finished = 0;
  const isAt = (index: number, share: number): void => {
    shares[index] = share;
    onProgress?.({ finished, done: shares.reduce((sum, each) => sum + each, 0) });
  };
  const file = programFile('src/lab/simulate/worker');
  const work = async (): Promise<void> => {
    const worker = new Worker(file, { workerData: source });
    try {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const { job, index } = next;
        results[index] = await ask(worker, job, (share) => isAt(index, share));
        finished += 1;
        isAt(index, 1);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, jobs.length) }, work));
  return results as readonly JobResult[];
}

function ask(
  worker: Worker,
  job: SimulationJob,
  onShare: (share: number) => void,
): Promise<JobResult> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: WorkerMessage): void => {
      if ('share' in message) {
        onShare(message.share);
        return;
      }
      worker.off('error', reject);
      worker.off('message', onMessage);
      resolve(message.result);
    };
    worker.once('error', reject);
    worker.on('message', onMessage);
    worker.postMessage(job);
  });
}
