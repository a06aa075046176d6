import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import type { Client } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { inFlightAt, serveOptions } from '../../bench/support/stack.ts';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { configFileOf, planFromPlugins } from '../../src/catalogue/plan.ts';
import { limitsFor } from '../../src/extproc/server/port/server-limits.ts';
import { readCapture } from '../../src/journal/capture/read-capture.ts';
import { redecide } from '../../src/redecide/redecide.ts';
import { sameDecision } from '../../src/redecide/redecision.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import type { ServeSettings } from '../../src/serve/options/serve-options.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import {
  type Answer,
  headersSet,
  type ProcessorStream,
  processorClient,
  requestBody,
  requestHeaders,
  responseEnd,
  responseHeaders,
} from '../support/grpc/ext-proc-client.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-io-workers-'));
const threads: Worker[] = [];
const open: { readonly client: Client; readonly stream: ProcessorStream }[] = [];
let serving: Serving;

/** A picker with two I/O workers. Nothing listens at its endpoints. */
function start(more: Partial<ServeSettings> = {}): Promise<Serving> {
  const endpoints = ['127.0.0.1:1', '127.0.0.1:2'];
  return startServe(serveOptions({ endpoints, ioWorkers: 2, drainTimeoutMs: 60_000, ...more }));
}

beforeAll(async () => {
  const onWorker = (worker: Worker): void => void threads.push(worker);
  process.on('worker', onWorker);
  serving = await start({ capture: { folder, bytesMax: 1e8 } });
  process.off('worker', onWorker);
});
afterEach(() => {
  for (const { client, stream } of open.splice(0)) {
    // A closed client waits for its calls.
    stream.on('error', () => undefined).cancel();
    client.close();
  }
});
afterAll(async () => {
  await serving?.stop({ notice: false });
  rmSync(folder, { recursive: true });
});

const HEADERS = {
  ':method': 'POST',
  ':path': '/v1/chat/completions',
  'content-type': 'application/json',
};
const chat = (content: string): string =>
  JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] });
const whole = (content: string): readonly object[] => [
  requestHeaders(HEADERS),
  requestBody(chat(content)),
  responseHeaders({ ':status': '200', 'content-type': 'application/json' }),
  responseEnd('{"usage":{"prompt_tokens":3,"completion_tokens":2}}'),
];

function destinationIn(answers: readonly Answer[]): string | undefined {
  const picked = answers.find(({ response }) => response === 'request_headers');
  const set = headersSet(picked?.request_headers?.response?.header_mutation);
  return set.get('x-gateway-destination-endpoint');
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}

interface Picked {
  readonly stream: ProcessorStream;
  readonly destination: string | undefined;
}

/** A stream whose request has been picked for. Rejects where it is not. */
async function picked(port: number, content = 'hi'): Promise<Picked> {
  const client = processorClient(port);
  const stream = client.Process();
  open.push({ client, stream });
  const answer = new Promise<Answer>((resolve, reject) => {
    stream.once('data', resolve);
    stream.once('error', reject);
  });
  for (const message of whole(content).slice(0, 2)) stream.write(message);
  const destination = destinationIn([await answer]);
  stream.on('data', () => undefined);
  return { stream, destination };
}

/** The rest of the request, until its stream has ended. */
async function answered({ stream }: Picked): Promise<void> {
  const ended = new Promise((resolve) => stream.once('end', resolve));
  for (const message of whole('').slice(2)) stream.write(message);
  stream.end();
  await ended;
}

async function page(): Promise<string> {
  return (await fetch(`http://127.0.0.1:${serving.metricsPort}/metrics`)).text();
}

it('[D251] two workers serve one port, and their requests make one ledger and one page', async () => {
  const { extProcPort, metricsPort } = serving;
  const words = (n: number): string => `a prompt of its own ${n} `.repeat(40 * (n % 4));
  const requests = await Promise.all(
    Array.from({ length: 12 }, (_, n) => picked(extProcPort, words(n))),
  );
  for (const { destination } of requests) expect(destination).toMatch(/^127\.0\.0\.1:[12](,|$)/);
  expect(await inFlightAt(metricsPort)).toBe(12);
  await Promise.all(requests.map(answered));
  await until(async () => (await inFlightAt(metricsPort)) === 0);
  await until(async () => (await page()).includes('\npointsman_open_streams 0\n'));
  const text = await page();
  expect(text).toMatch(/llm_d_epp_request_total\{[^}]*\} 12\n/);
  expect(text).toMatch(/llm_d_epp_request_processing_duration_seconds_count 12\n/);
});

it('[D252] refuses what workers cannot do, and a port where another process listens', async () => {
  const refused = (more: Partial<ServeSettings>): Promise<string> =>
    start(more).then(String, String);
  expect(await refused({ observe: true })).toContain('--io-workers: cannot be used with --observe');
  const plan = await planFromPlugins('default', [], { text: REPORTER });
  expect(await refused({ plan })).toContain(
    'cannot be used with plugin request-attribute-reporter',
  );
  expect(await refused({ extProcPort: serving.extProcPort })).toContain('cannot listen on');
});

it('[V222] refuses a reload with a plugin of --plugin that workers cannot call', async () => {
  const config = join(folder, 'config.yaml');
  const plugin = join(folder, 'plugin.mjs');
  writeFileSync(plugin, REPORTING_SCORER);
  writeFileSync(config, SCORED);
  const [plan, configFile] = [
    await planFromPlugins(config, [plugin]),
    await configFileOf(config, [plugin]),
  ];
  const { stop, metricsPort, extProcPort } = await start({ plan, configFile });
  const reloadFailed = async (): Promise<boolean> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return text.includes('\npointsman_config_last_reload_successful 0\n');
  };
  writeFileSync(config, `${SCORED}- {type: reporting-scorer}\n`);
  await until(reloadFailed);
  const request = await picked(extProcPort);
  expect(request.destination).toMatch(/^127/);
  await answered(request);
  await stop({ notice: false });
});

it('[V226] one worker may take all of the limits, and no two take them twice', async () => {
  const limits = { ...limitsFor(2 ** 30), streamsMax: 3 };
  const { stop, extProcPort } = await start({ limits });
  // One connection is one worker's.
  const client = processorClient(extProcPort);
  const ask = (): Promise<Answer> => {
    const stream = client.Process();
    open.push({ client, stream });
    for (const message of whole('hi').slice(0, 2)) stream.write(message);
    return new Promise((resolve, reject) => {
      stream.once('data', resolve).once('error', reject);
    });
  };
  const answers = await Promise.all([ask(), ask(), ask()]);
  expect(answers.map((answer) => destinationIn([answer]) !== undefined)).toEqual([
    true,
    true,
    true,
  ]);
  // Others come to either worker.
  for (let n = 0; n < 6; n++) expect((await picked(extProcPort)).destination).toBeUndefined();
  for (const { stream } of open) stream.on('error', () => undefined).cancel();
  await stop({ notice: false });
});

it('[D253] a worker that fails loses its streams, their load is released, and it is started again', async () => {
  const { extProcPort, metricsPort } = serving;
  const requests = await Promise.all(Array.from({ length: 8 }, () => picked(extProcPort)));
  const lost = requests.map(
    ({ stream }) => new Promise((resolve) => stream.once('error', resolve)),
  );
  for (const thread of threads) await thread.terminate();
  await Promise.all(lost);
  expect(await inFlightAt(metricsPort)).toBe(0);
  await until(() =>
    picked(extProcPort).then(
      () => true,
      () => false,
    ),
  );
  await until(async () => (await page()).includes('io_worker_restarts_total 2\n'));
});

it('[D254] a drain lets streams end, and the capture of all gives the same decisions', async () => {
  const requests = await Promise.all(Array.from({ length: 6 }, () => picked(serving.extProcPort)));
  const stopped = serving.stop({ notice: false });
  await Promise.all(requests.map(answered));
  await stopped;
  const refused = await new Promise((resolve) => {
    connect(serving.extProcPort, '127.0.0.1').once('error', resolve).once('connect', resolve);
  });
  expect(refused).toMatchObject({ code: 'ECONNREFUSED' });
  const { records } = readCapture(folder);
  let decisions = 0;
  const options = { catalogue: EMBEDDED_CATALOGUE, randomOf: seededRandom };
  for await (const { was, is } of redecide(records, options)) {
    expect(sameDecision(was, is)).toBe(true);
    decisions += 1;
  }
  expect(decisions).toBeGreaterThanOrEqual(12 + 8 + 6);
});

const SCORED = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: queue-scorer
`;

/** Plain JavaScript, as a user's plugin may be. */
const REPORTING_SCORER = `
const reporting = {
  type: 'reporting-scorer',
  config: { parse: () => ({}), safeParse: () => ({ success: true, data: {} }) },
  create: () => ({
    score: (endpoints) => endpoints.map(() => 1),
    responseMetadata: () => [],
  }),
};
export const plugins = { scorers: [reporting] };
`;

const REPORTER = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: request-attribute-reporter
  parameters: {attributes: [{key: {name: tokens}, expression: usage.completion_tokens}]}
- type: queue-scorer
schedulingProfiles:
- {name: default, plugins: [{pluginRef: queue-scorer}]}
`;
