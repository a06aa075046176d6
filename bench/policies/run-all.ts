import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SimulationSummary } from '../../src/lab/run-summary/summarize.ts';
import type { PolicyJob } from './worker.ts';

/** Runs jobs in threads; summaries come in the order of the jobs. */
export async function runAll(
  jobs: readonly PolicyJob[],
  { traces, onDone }: { readonly traces: string | undefined; readonly onDone: () => void },
): Promise<readonly SimulationSummary[]> {
  const results: SimulationSummary[] = [];
  const left = jobs.map((job, index) => ({ job, index })).reverse();
  const file = new URL(
    import.meta.filename.endsWith('.ts') ? './worker.ts' : './worker.js',
    import.meta.url,
  );
  const work = async (): Promise<void> => {
    const worker = new Worker(file, { workerData: traces });
    try {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        results[next.index] = await ask(worker, next.job);
        onDone();
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), jobs.length) }, work));
  return results;
}

function ask(worker: Worker, job: PolicyJob): Promise<SimulationSummary> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (summary: SimulationSummary) => {
      worker.off('error', reject);
      resolve(summary);
    });
    worker.postMessage(job);
  });
}
