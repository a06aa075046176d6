import type { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { exchange, requestBody, requestHeaders } from '../../test/support/grpc/ext-proc-client.ts';
import { PLAIN_READING } from '../../test/support/linked-threads.ts';
import type { RuleReaders } from '../endpoints/rewrites/request-rules.ts';
import { limitsFor } from '../extproc/server/port/server-limits.ts';
import { RoutingError } from '../framework/error.ts';
import type { InferenceRequest } from '../framework/request.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { createLog } from '../runtime/log/log.ts';
import type { ReadingRules } from './io-worker-setup.ts';
import { type IoWorkers, startIoWorkers } from './io-workers.ts';

const renaming = (model: string): ReadingRules => ({
  ...PLAIN_READING,
  rewrites: [{ rule: 'canary', models: ['chat'], targets: [{ model }] }],
});

let workers: IoWorkers | undefined;
afterEach(async () => {
  await workers?.drain({ noticeMs: 0, deadlineMs: 0 });
});

/** Two I/O workers. The rules change as the second of them starts. */
async function setUp() {
  let reading = PLAIN_READING;
  let readers: RuleReaders | undefined;
  const models: string[] = [];
  const change = (next: ReadingRules): void => {
    reading = next;
    readers?.refresh();
  };
  let started = 0;
  const onWorker = (_worker: Worker): void => {
    started += 1;
    if (started === 2) change(renaming('chat-v1'));
  };
  process.on('worker', onWorker);
  const route = ({ model }: InferenceRequest): never => {
    models.push(model);
    throw new RoutingError('no-endpoints', 'there is no endpoint');
  };
  const ignore = (): void => undefined;
  workers = await startIoWorkers({
    workers: 2,
    host: '127.0.0.1',
    port: 0,
    healthPort: undefined,
    tls: 'plaintext',
    limits: limitsFor(2 ** 30),
    given: {
      bodyBytesMax: 1000,
      settings: { earlyPickBytes: 1000, halfCloseAfterPick: false },
      trustClientControls: false,
      seed: 1,
      secret: new Uint32Array(4),
      follows: false,
      times: 'none',
    },
    link: {
      router: { route },
      identified: (request) => request,
      placedOptions: () => ({ withLabels: false, withScores: false }),
      onFault: ignore,
      onRefused: ignore,
      onIgnored: ignore,
      onClientFault: ignore,
    },
    reading: () => reading,
    onStart: (given) => {
      readers = given;
    },
    clock: new SimulatedClock(),
    log: createLog('silent'),
  });
  process.off('worker', onWorker);
  const { port } = workers;
  const adopted = (): Promise<void> => new Promise((resolve) => readers?.whenAdopted(resolve));
  return { port, models, change, adopted, readers };
}

/** Sends a request for the model `chat`, and resolves when it is refused. */
async function ask(port: number): Promise<void> {
  const headers = { ':method': 'POST', ':path': '/v1/completions' };
  await exchange(port, [
    requestHeaders({ ...headers, 'content-type': 'application/json' }),
    requestBody('{"model":"chat","prompt":"a"}'),
  ]);
}

it('[V574] requests are read by rules that came while the workers started', async () => {
  const { port, models, adopted } = await setUp();
  await adopted();
  for (let request = 0; request < 4; request++) await ask(port);
  expect(models).toEqual(Array.from({ length: 4 }, () => 'chat-v1'));
});

it('[V574] rules are adopted once each worker has said so', async () => {
  const { port, models, change, adopted, readers } = await setUp();
  await adopted();
  change(renaming('chat-v2'));
  let isAdopted = false;
  readers?.whenAdopted(() => {
    isAdopted = true;
  });
  expect(isAdopted).toBe(false);
  await adopted();
  expect(isAdopted).toBe(true);
  await ask(port);
  expect(models).toEqual(['chat-v2']);
});
