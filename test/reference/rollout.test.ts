import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, serveOptions } from '../../bench/support/stack.ts';
import { configFileOf } from '../../src/catalogue/plan.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import {
  type Answer,
  exchange,
  headersSet,
  requestBody,
  requestHeaders,
  responseEnd,
  responseHeaders,
} from '../support/grpc/ext-proc-client.ts';

/** A rollout of prefill and decode servers, as a gateway sees it. */

const SET = 'disaggregatedset.x-k8s.io';
const CONFIG = `
apiVersion: llm-d.ai/v1
kind: EndpointPickerConfig
plugins:
- type: disaggregatedset-rollout-screener
  parameters:
    scope: { labelSelector: '${SET}/name=large' }
    revisionGating: { mode: max-role, requiredRoles: [prefill, decode] }
- { type: always-disagg-pd-decider }
- { type: disagg-profile-handler, parameters: { deciders: { prefill: always-disagg-pd-decider } } }
- { type: prefill-filter }
- { type: decode-filter }
- { type: random-picker }
schedulingProfiles:
- { name: prefill, plugins: [{ pluginRef: prefill-filter }, { pluginRef: random-picker }] }
- { name: decode, plugins: [{ pluginRef: decode-filter }, { pluginRef: random-picker }] }
`;
const HEADER = 'x-llm-d-disagg-revision';
const ASKED = { ':method': 'POST', ':path': '/v1/completions', 'content-type': 'application/json' };

const folder = mkdtempSync(join(tmpdir(), 'pointsman-rollout-'));
const endpointsFile = join(folder, 'endpoints.yaml');
let engine: Server;
let serving: Serving;
/** The revision of each address. */
const revisions = new Map<string, string>();

/** One address of the loopback for each server of a revision and role. */
function writeServers(servers: readonly (readonly [revision: string, role: string])[]): void {
  const { port } = engine.address() as AddressInfo;
  const endpoints = servers.map(([revision, role], at) => {
    const address = `127.0.0.${at + 1}`;
    revisions.set(`${address}:${port}`, revision);
    const set = { [`${SET}/name`]: 'large', [`${SET}/revision`]: revision, [`${SET}/role`]: role };
    return { name: `s${at}`, address, port, labels: { ...set, 'llm-d.ai/role': role } };
  });
  writeFileSync(endpointsFile, JSON.stringify({ endpoints }));
}

const metricsPage = async (): Promise<string> =>
  (await fetch(`http://127.0.0.1:${serving.metricsPort}/metrics`)).text();

beforeAll(async () => {
  const page = 'vllm:num_requests_waiting 0\nvllm:num_requests_running 0\n';
  engine = createServer((_request, response) => void response.end(page)).listen(0, '0.0.0.0');
  await new Promise((resolve) => engine.once('listening', resolve));
  writeServers([
    ['old', 'prefill'],
    ['old', 'decode'],
    ['old', 'decode'],
    ['new', 'prefill'],
    ['new', 'decode'],
  ]);
  const config = join(folder, 'config.yaml');
  writeFileSync(config, CONFIG);
  const options = serveOptions({ endpointsFile }, config);
  serving = await startServe({ ...options, configFile: await configFileOf(config, []) });
  await eventually(metricsPage, (text) => text.includes('ready_endpoints{name="test"} 5'));
});
afterAll(async () => {
  await serving?.stop();
  engine?.close();
  rmSync(folder, { recursive: true });
});

async function ask(headers: Readonly<Record<string, string>> = {}): Promise<readonly Answer[]> {
  return exchange(serving.extProcPort, [
    requestHeaders({ ...ASKED, ...headers }),
    requestBody('{"model":"m","prompt":"hello"}'),
    responseHeaders({ ':status': '200', 'content-type': 'application/json' }),
    responseEnd('{"choices":[]}'),
  ]);
}

/** The revisions of the prefill server and of the decode server, and what the answer says. */
function saidIn(answers: readonly Answer[]): readonly (string | undefined)[] {
  const request = answers.find(({ request_headers }) => request_headers)?.request_headers;
  const answer = answers.find(({ response_headers }) => response_headers)?.response_headers;
  const sent = headersSet(request?.response?.header_mutation);
  const revisionAt = (name: string): string | undefined => revisions.get(sent.get(name) ?? '');
  return [
    revisionAt('x-prefiller-host-port'),
    revisionAt('x-gateway-destination-endpoint'),
    headersSet(answer?.response?.header_mutation).get(HEADER),
  ];
}

describe('while prefill and decode servers are rolled out', () => {
  test('[D627] both servers of a request are of one revision, which the answer names', async () => {
    const seen = new Set<string | undefined>();
    for (let count = 0; count < 40; count += 1) {
      const [prefill, decode, named] = saidIn(await ask());
      expect([prefill, named]).toEqual([decode, decode]);
      seen.add(decode);
    }
    expect(seen).toEqual(new Set(['new', 'old']));
  });

  test('[D627] a request gets the revision that it names, and 503 where there is none', async () => {
    for (const revision of ['new', 'old', 'new'])
      expect(saidIn(await ask({ [HEADER]: revision }))).toEqual([revision, revision, revision]);
    const [refusal] = await ask({ [HEADER]: 'other' });
    expect(refusal?.immediate_response?.status.code).toBe(503);
    expect(await metricsPage()).toMatch(/strict_revision_no_match_total\{[^}]*\} 1\n/);
  });

  test('[D627] a revision that has lost a role gets no requests', async () => {
    writeServers([
      ['old', 'decode'],
      ['old', 'decode'],
      ['new', 'prefill'],
      ['new', 'decode'],
    ]);
    await eventually(metricsPage, (text) => /gating_share\{[^}]*"old"\} 0\n/.test(text));
    for (let count = 0; count < 10; count += 1)
      expect(saidIn(await ask())).toEqual(['new', 'new', 'new']);
    const [refusal] = await ask({ [HEADER]: 'old' });
    expect(refusal?.immediate_response?.status.code).toBe(503);
  });
});
