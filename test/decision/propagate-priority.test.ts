import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveOptions } from '../../bench/support/stack.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import {
  type Answer,
  exchange,
  requestBody,
  requestHeaders,
} from '../support/grpc/ext-proc-client.ts';

/** `requestHandler.propagatePriority` over a real stream: what the model server gets. */

const CONFIG = `
apiVersion: llm-d.ai/v1
kind: EndpointPickerConfig
plugins: [{ type: active-request-scorer }]
requestHandler: { propagatePriority: true }
`;
const ENDPOINTS = `
endpoints:
- { name: a, address: 127.0.0.1, port: 9, labels: { llm-d.ai/engine-type: vllm } }
objectives: { urgent: 100, batch: -10 }
`;

const folder = mkdtempSync(join(tmpdir(), 'pointsman-priority-'));
let serving: Serving;

beforeAll(async () => {
  writeFileSync(join(folder, 'config.yaml'), CONFIG);
  writeFileSync(join(folder, 'endpoints.yaml'), ENDPOINTS);
  const endpointsFile = join(folder, 'endpoints.yaml');
  serving = await startServe(serveOptions({ endpointsFile }, join(folder, 'config.yaml')));
});
afterAll(async () => {
  await serving?.stop();
  rmSync(folder, { recursive: true });
});

const bodyIn = (answers: readonly Answer[]): string =>
  Buffer.concat(
    answers.map(
      ({ request_body: part }) =>
        part?.response?.body_mutation?.streamed_response?.body ?? Buffer.alloc(0),
    ),
  ).toString();

const lengthIn = (answers: readonly Answer[]): string | undefined =>
  answers
    .flatMap(({ request_headers: part }) => part?.response?.header_mutation?.set_headers ?? [])
    .find(({ header }) => header.key.toLowerCase() === 'content-length')
    ?.header.raw_value.toString();

test.each([
  ['urgent', -100],
  ['batch', 10],
  ['unknown', 0],
])('[D152] the priority of objective %s reaches a vLLM server as %i', async (objective, shown) => {
  const answers = await exchange(serving.extProcPort, [
    requestHeaders({
      ':method': 'POST',
      ':path': '/v1/completions',
      'x-llm-d-inference-objective': objective,
    }),
    requestBody('{"model":"m","priority":5,"prompt":"x"}'),
  ]);
  const body = bodyIn(answers);
  expect(JSON.parse(body)).toEqual({ model: 'm', priority: shown, prompt: 'x' });
  expect(lengthIn(answers)).toBe(String(body.length));
});
