import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { simulatedPickerMaker } from '../../library/picker-maker.ts';
import { nodeClock } from '../../runtime/clock/node-clock.ts';
import { PerSecond } from '../../runtime/clock/per-second.ts';
import { loadTrace, loadTraceContent } from '../traces/reading/load-trace.ts';
import { sizesIn } from '../traces/request-table.ts';
import { readingOf } from '../traces/trace.ts';
import { readPool } from './pool-file.ts';
import { noteTooLong } from './pool-spec.ts';
import { runJob, type SimulationJob } from './run-job.ts';
import type { JobSource, WorkerMessage } from './run-jobs.ts';

/** More would only take time from the simulation. */
const SHARES_PER_SECOND = 2;

/** A worker thread that runs the jobs it receives, one after another. */
const source = workerData as JobSource;
const { trace: path, pool: poolPath, plugins, closedLoop, ...loading } = source;
// Turns that wait for answers are found by their objects.
const trace = closedLoop
  ? loadTrace(path, { ...loading, sessions: true })
  : loadTraceContent(path, loading);
const workload = { ...trace, closedLoop };
const pool = readPool(readFileSync(poolPath, 'utf8'), poolPath);
const notes = [...trace.notes, ...noteTooLong(trace, pool)];
const reading = readingOf({ ...trace, notes }, sizesIn(trace.requests));
const createPicker = await simulatedPickerMaker(plugins);

const tell = (message: WorkerMessage): void => parentPort?.postMessage(message);

parentPort?.on('message', (job: SimulationJob) => {
  const shares = new PerSecond(nodeClock(), SHARES_PER_SECOND);
  const onShare = (share: number): void => {
    if (shares.take()) tell({ share });
  };
  // A rejection ends the thread with the error, as what is thrown does.
  void runJob(job, { workload, pool, createPicker, onShare }).then((result) =>
    tell({ result: { ...result, trace: reading } }),
  );
});
