import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { type Worker } from 'node:worker_threads';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { PLAIN_READING } from '../../test/support/linked-threads.ts';
import { limitsFor } from '../extproc/server/port/server-limits.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import type { Log } from '../runtime/log/log.ts';
import type { IoWorkerSetup } from './io-worker-setup.ts';
import { IoWorkerThread } from './io-worker-thread.ts';
import { TO_WORKER } from './operations.ts';
import { newUsageCell } from './usage-cell.ts';

const SETUP: IoWorkerSetup = {
  host: '127.0.0.1',
  port: 0,
  tls: 'plaintext',
  limits: limitsFor(2 ** 30),
  bodyBytesMax: 1000,
  settings: { earlyPickBytes: 1000, halfCloseAfterPick: false },
  trustClientControls: false,
  seed: 1,
  secret: new Uint32Array(4),
  follows: false,
  times: 'none',
  number: 0,
  cells: [newUsageCell()],
  reading: PLAIN_READING,
  serving: true,
};

/** A batch that no deciding thread sends: headers without end, which a worker reads for ever. */
const ENDLESS = {
  values: [
    TO_WORKER.placed,
    1,
    'id',
    'a',
    undefined,
    '',
    undefined,
    false,
    false,
    undefined,
    1e300,
    '',
  ],
  words: new Uint32Array(0),
};

const threads: IoWorkerThread[] = [];
afterEach(() => {
  for (const thread of threads.splice(0)) thread.stop();
});

/** A worker with a thread of its own, in simulated time. */
async function setUp() {
  const clock = new SimulatedClock();
  const workers: Worker[] = [];
  const onWorker = (worker: Worker): void => void workers.push(worker);
  process.on('worker', onWorker);
  onTestFinished(() => void process.off('worker', onWorker));
  const error = vi.fn();
  const unused = (): never => {
    throw new Error('no gateway is connected');
  };
  const link = {
    router: { route: unused },
    identified: unused,
    placedOptions: unused,
    onFault: unused,
    onRefused: unused,
    onIgnored: unused,
    onClientFault: unused,
  };
  const thread = new IoWorkerThread({
    number: 0,
    setup: () => SETUP,
    link,
    onBatch: () => undefined,
    onAdopted: () => undefined,
    onEnded: () => undefined,
    clock,
    log: { error } as unknown as Log,
  });
  threads.push(thread);
  await thread.start();
  const second = (): void => clock.advanceTo(clock.now() + 1000);
  return { thread, workers, error, second };
}

it('[V223] a worker that hangs is ended, said so, and started again', async () => {
  const { thread, workers, error, second } = await setUp();
  const [worker] = workers;
  if (worker === undefined) throw new Error('no thread was started');
  worker.postMessage({ kind: 'batch', batch: ENDLESS });
  const ended = once(worker, 'exit');
  for (let n = 0; n < 11; n++) second();
  await ended;
  const [fields] = error.mock.calls[0] ?? [];
  expect(String(fields.err)).toContain('has not answered for 10000 ms');
  const restarted = once(process, 'worker');
  second();
  expect(thread.restarts).toBe(1);
  await restarted;
});

it('[V223] a worker that answers is kept, however late each answer is', async () => {
  const { thread, workers, error, second } = await setUp();
  const [worker] = workers;
  if (worker === undefined) throw new Error('no thread was started');
  let answers = 0;
  worker.on('message', () => void answers++);
  for (let round = 1; round <= 4; round++) {
    for (let n = 0; n < 9; n++) second();
    while (answers < 9 * round) await new Promise((resolve) => setImmediate(resolve));
  }
  expect([thread.restarts, error.mock.calls]).toEqual([0, []]);
});

it('[V613] a worker whose thread cannot be made is tried again, and the picker goes on', async () => {
  const { thread, workers, error, second } = await setUp();
  const [worker] = workers;
  if (worker === undefined) throw new Error('no thread was started');
  const real = workerThreads.Worker;
  const replace = (by: typeof Worker): void => {
    workerThreads.Worker = by;
    syncBuiltinESMExports();
  };
  onTestFinished(() => replace(real));
  const none = function (): never {
    throw new Error('no more threads');
  };
  replace(none as unknown as typeof Worker);
  const ended = once(worker, 'exit');
  await worker.terminate();
  await ended;
  second();
  const tried = thread.restarts;
  expect(tried).toBeGreaterThan(0);
  expect(String(error.mock.calls.at(-1)?.[0].err)).toContain('no more threads');
  replace(real);
  const restarted = once(process, 'worker');
  for (let n = 0; n < 60 && thread.restarts === tried; n++) second();
  await restarted;
});

it('[V223] a drain ends also where a worker hangs', async () => {
  const { thread, workers, second } = await setUp();
  workers[0]?.postMessage({ kind: 'batch', batch: ENDLESS });
  const drained = thread.drain({ noticeMs: 0, deadlineMs: 0 });
  for (let n = 0; n < 11; n++) second();
  await drained;
});
