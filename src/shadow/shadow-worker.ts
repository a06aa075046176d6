import { constants, setPriority } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { SERVING_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { withPlugins } from '../catalogue/load-plugins.ts';
import type { CaptureRecord } from '../journal/capture/capture-record.ts';
import { recordOf } from '../journal/capture/record-of.ts';
import { Redecider } from '../redecide/redecider.ts';
import { createRealRuntime } from '../runtime/real-runtime.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { ShadowComparison } from './shadow-comparison.ts';
import type { ShadowData } from './shadow-data.ts';
import { decisionLine } from './shadow-log.ts';
import type { RefusedFilesMessage, ShadowMessage } from './shadow-messages.ts';

// Requests come first where cores are busy. On Linux the priority is that of this thread; elsewhere
// it would be that of the process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);

/** A shadow's thread: makes recorded decisions again and answers each batch with a report. */
const {
  config,
  source,
  featureGates,
  plugins,
  state,
  reportsDecisions = false,
} = workerData as ShadowData;
const catalogue = await withPlugins(SERVING_CATALOGUE, plugins);
// For schedulers in other processes; everything else here takes its time from the records.
const schedulerRuntime = createRealRuntime({
  seed: 0,
  // The picker logs it, as it does for its own connections.
  warnOfFile: (_message, refusedFiles) =>
    parentPort?.postMessage({ refusedFiles } satisfies RefusedFilesMessage),
});
const comparison = new ShadowComparison(source);
let redecider: Redecider | undefined;
let lines: string[] = [];
/** Added to the time of a record, this gives milliseconds since the Unix epoch. */
let epochMs = 0;
/** During a long batch this interval between reports shows that the thread does not hang. */
const REPORT_INTERVAL_MS = 1000;
let reportedAt = 0;
/** Longest wait for a scheduler in another process when the thread starts. */
const CONNECT_MS_MAX = 10_000;
const CONNECT_LOOK_MS = 10;
let batches = Promise.resolve();
const utf8 = new TextDecoder();

parentPort?.on('message', (batch: Uint8Array) => {
  // An error in a batch must end the thread, which an unhandled rejection does.
  batches = batches.then(() => processBatch(batch));
});

// Says that everything is loaded.
sendReport('batch-done');

async function processBatch(batch: Uint8Array): Promise<void> {
  reportedAt = performance.now();
  for (const line of utf8.decode(batch).split('\n')) {
    if (line === '') continue;
    await processRecord(recordOf(line));
    if (performance.now() - reportedAt > REPORT_INTERVAL_MS) sendReport('within-batch');
  }
  sendReport('batch-done');
}

function sendReport(when: 'batch-done' | 'within-batch'): void {
  parentPort?.postMessage({
    report: comparison.report(redecider?.replacement()),
    lines: lines.join(''),
    batchDone: when === 'batch-done',
  } satisfies ShadowMessage);
  lines = [];
  reportedAt = performance.now();
}

/**
 * Requests that come while a scheduler in another process is being connected would count as
 * undecided. They wait for it, up to a bound: a scheduler that is away must not stop the shadow.
 */
async function untilConnected(made: Redecider): Promise<void> {
  const givesUpAt = performance.now() + CONNECT_MS_MAX;
  while (made.replacement()?.connected === false && performance.now() < givesUpAt) {
    await setTimeout(CONNECT_LOOK_MS);
  }
}

async function processRecord(record: CaptureRecord): Promise<void> {
  if (record.e === 'capture') {
    const given = { text: config, source, featureGates };
    epochMs = record.wallMs - record.t;
    redecider = new Redecider(record, {
      catalogue,
      config: given,
      randomOf: seededRandom,
      state,
      schedulerRuntime,
      onFirstToken: (token) => comparison.firstToken(token),
    });
    await untilConnected(redecider);
    return;
  }
  if (redecider?.isReplaced === true && record.e === 'q') await redecider.prepare(record);
  const decided = redecider?.take(record);
  if (decided === undefined) return;
  comparison.add(decided);
  // The profiles decided instead: that says nothing about the scheduler under test.
  if (decided.undecided === true) return;
  if (reportsDecisions && record.e === 'q')
    lines.push(decisionLine(source, epochMs + record.t, decided));
}
