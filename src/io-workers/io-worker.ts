import { parentPort, workerData } from 'node:worker_threads';
import { limitYoungGeneration } from '../runtime/process/young-generation.ts';
import type { IoWorkerSetup, ToCore, ToWorker } from './io-worker-setup.ts';
import { RunningWorker } from './running-worker.ts';

// The thread of one I/O worker, which has a heap of its own.
limitYoungGeneration(process.execArgv);
const port = parentPort;
if (port === null) throw new Error('this file is the thread of an I/O worker');
const send = (message: ToCore, moved: readonly ArrayBuffer[] = []): void =>
  port.postMessage(message, moved);
const worker = new RunningWorker(workerData as IoWorkerSetup, send);
port.on('message', (message: ToWorker) => worker.receive(message));
try {
  await worker.start();
  send({ kind: 'listening' });
} catch (error) {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  send({ kind: 'failed', name, message });
}
