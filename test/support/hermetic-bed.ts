import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { eventually, serveOptions } from '../../bench/support/stack.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import {
  type Answer,
  bodyOf,
  exchange,
  headersSet,
  requestBody,
  requestHeaders,
} from './grpc/ext-proc-client.ts';
import { type ServerState, startMetricServer } from './servers/metric-servers.ts';

const CONFIG = join(import.meta.dirname, '../fixtures/hermetic.yaml');
export const DESTINATION = 'x-gateway-destination-endpoint';
export const MODEL = 'sql-lora-1';
const stops: (() => Promise<void> | void)[] = [];

/** Stops all that `poolOf` has started. */
export async function stopPools(): Promise<void> {
  for (const stop of stops.splice(0).toReversed()) await stop();
}

interface Pool {
  readonly serving: Serving;
  readonly addresses: readonly string[];
}

/** Starts a picker for servers in these states, and waits until it has a sample of each. */
export async function poolOf(...states: readonly ServerState[]): Promise<Pool> {
  const servers = await Promise.all(states.map((state) => startMetricServer(state)));
  for (const server of servers) stops.push(server.stop);
  const addresses = servers.map(({ address }) => address);
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-hermetic-'));
  stops.push(() => rmSync(folder, { recursive: true }));
  const endpointsFile = join(folder, 'endpoints.json');
  const endpoints = addresses.map((text, index) => {
    const [address, port] = text.split(':');
    return { name: `pod-${index}`, address, port };
  });
  const modelRewrites = [{ name: 'canary', models: ['old'], targets: [{ model: 'new' }] }];
  writeFileSync(
    endpointsFile,
    JSON.stringify({ endpoints, objectives: { urgent: 2 }, modelRewrites }),
  );
  const serving = await startServe(serveOptions({ endpointsFile }, CONFIG));
  stops.push(serving.stop);
  await eventually(
    async () => (await readyz(serving)).detail.freshEndpoints,
    (fresh) => fresh === states.length,
  );
  return { serving, addresses };
}

async function readyz({
  metricsPort,
}: Serving): Promise<{ readonly detail: { readonly freshEndpoints: number } }> {
  const response = await fetch(`http://127.0.0.1:${metricsPort}/readyz`);
  return (await response.json()) as { readonly detail: { readonly freshEndpoints: number } };
}

/** The metrics page of a picker. */
export async function page({ metricsPort }: Serving): Promise<string> {
  return (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
}

/** They have no path: the reference takes such a request for a completion. */
const HEADERS = { hi: 'mom', 'x-request-id': 'test-request-id' };
export const completion = (model: string): string =>
  JSON.stringify({ max_tokens: 100, model, prompt: 'test1', temperature: 0 });

/** The messages of one request whose body arrives in these pieces. */
export function request(
  pieces: readonly string[],
  {
    headers = {},
    subset,
  }: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly subset?: readonly string[];
  } = {},
): readonly object[] {
  return [
    requestHeaders({ ...HEADERS, ...headers }, subset === undefined ? {} : { subset }),
    ...pieces.map((piece, index) => requestBody(piece, index === pieces.length - 1)),
  ];
}

export const setOnRequest = (answers: readonly Answer[]): ReadonlyMap<string, string> =>
  headersSet(
    answers.find((answer) => answer.request_headers)?.request_headers?.response?.header_mutation,
  );

/** Index of the server that the request was sent to. Expects the body to come back unchanged. */
export async function picked(
  { serving, addresses }: Pool,
  messages: readonly object[],
  sent: string,
): Promise<number> {
  const answers = await exchange(serving.extProcPort, messages);
  expect(bodyOf(answers, 'request_body')).toEqual({ text: sent, ends: true });
  return addresses.indexOf(setOnRequest(answers).get(DESTINATION) ?? '');
}

/** What a request is refused with. Expects no other answer. */
export async function refused(
  { serving }: Pool,
  messages: readonly object[],
): Promise<{
  readonly code: number;
  readonly reason: string | undefined;
  readonly message: string;
}> {
  const answers = await exchange(serving.extProcPort, messages);
  expect(answers).toHaveLength(1);
  const immediate = answers[0]?.immediate_response;
  const { error } = JSON.parse(String(immediate?.body)) as {
    readonly error: { readonly message: string };
  };
  return {
    code: immediate?.status.code ?? 0,
    reason: headersSet(immediate?.headers).get('x-llm-d-request-dropped-reason'),
    message: error.message,
  };
}
