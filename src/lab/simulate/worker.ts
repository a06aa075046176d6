import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { simulatedPickerMaker } from '../../library/picker-maker.ts';
import { loadTrace, loadTraceContent } from '../traces/reading/load-trace.ts';
import { sizesIn } from '../traces/request-table.ts';
import { readingOf } from '../traces/trace.ts';
import { readPool } from './pool-file.ts';
import { noteTooLong } from './pool-spec.ts';
import { runJob, type SimulationJob } from './run-job.ts';
import type { JobSource } from './run-jobs.ts';

/** A worker thread that runs the jobs it receives, one after another. */
const source = workerData as JobSource;
const { from, lenient, shape, closedLoop } = source;
// Turns that wait for answers are found by their objects.
const trace = closedLoop
  ? loadTrace(source.trace, { from, lenient, shape, sessions: true })
  : loadTraceContent(source.trace, { from, lenient, shape });
const workload = { ...trace, closedLoop };
const pool = readPool(readFileSync(source.pool, 'utf8'), source.pool);
const notes = [...trace.notes, ...noteTooLong(trace, pool)];
const reading = readingOf({ ...trace, notes }, sizesIn(trace.requests));
const createPicker = await simulatedPickerMaker(source.plugins);

parentPort?.on('message', (job: SimulationJob) => {
  // A rejection ends the thread with the error, as what is thrown does.
  void runJob(job, { workload, pool, createPicker }).then((result) =>
    parentPort?.postMessage({ ...result, trace: reading }),
  );
});
