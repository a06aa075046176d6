import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SimulationSummary } from '../../src/lab/run-summary/summarize.ts';
import type { PolicyJob } from './worker.ts';

interface Waiting {
  readonly job: PolicyJob;
  readonly resolve: (summary: SimulationSummary) => void;
  readonly reject: (error: Error) => void;
}

/** Threads that simulate jobs, first come, first served. They keep running between calls. */
export class SimulationWorkers {
  readonly #waiting: Waiting[] = [];
  readonly #idle: Worker[] = [];
  readonly #all: readonly Worker[];
  readonly #onDone: () => void;

  constructor({ traces, onDone }: { readonly traces?: string; readonly onDone: () => void }) {
    this.#onDone = onDone;
    const extension = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
    const file = new URL(`./worker${extension}`, import.meta.url);
    this.#all = Array.from(
      { length: availableParallelism() },
      () => new Worker(file, { workerData: traces }),
    );
    this.#idle.push(...this.#all);
  }

  /** Summaries in the order of the jobs. */
  simulateAll(jobs: readonly PolicyJob[]): Promise<readonly SimulationSummary[]> {
    const summaries = jobs.map(
      (job) =>
        new Promise<SimulationSummary>((resolve, reject) => {
          this.#waiting.push({ job, resolve, reject });
        }),
    );
    this.#begin();
    return Promise.all(summaries);
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker.terminate()));
  }

  #begin(): void {
    for (const worker of this.#idle.splice(0, this.#waiting.length)) {
      const next = this.#waiting.shift();
      if (next !== undefined) this.#run(worker, next);
    }
  }

  #run(worker: Worker, { job, resolve, reject }: Waiting): void {
    worker.once('error', reject);
    worker.once('message', (summary: SimulationSummary) => {
      worker.off('error', reject);
      this.#idle.push(worker);
      this.#onDone();
      resolve(summary);
      this.#begin();
    });
    worker.postMessage(job);
  }
}
