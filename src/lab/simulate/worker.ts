import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { simulatedPickerMaker } from '../../library/picker-maker.ts';
import { loadTrace } from '../traces/reading/load-trace.ts';
import { readingOf } from '../traces/trace.ts';
import { readPool } from './pool-file.ts';
import { noteTooLong } from './pool-spec.ts';
import { runJob, type SimulationJob } from './run-job.ts';
import type { JobSource } from './run-jobs.ts';

/** A worker thread that runs the jobs it receives, one after another. */
const source = workerData as JobSource;
const { from, lenient, shape, closedLoop } = source;
const trace = loadTrace(source.trace, { from, lenient, shape, sessions: closedLoop });
const workload = { ...trace, closedLoop };
const pool = readPool(readFileSync(source.pool, 'utf8'), source.pool);
const notes = [...trace.notes, ...noteTooLong(trace, pool)];
const reading = readingOf({ ...trace, notes });
const createPicker = await simulatedPickerMaker(source.plugins);

parentPort?.on('message', (job: SimulationJob) => {
  // A rejection ends the thread with the error, as what is thrown does.
  void runJob(job, { workload, pool, createPicker }).then((result) =>
    parentPort?.postMessage({ ...result, trace: reading }),
  );
});
