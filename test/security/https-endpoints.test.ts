import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, serveOptions } from '../../bench/support/stack.ts';
import { planFrom } from '../../src/catalogue/plan.ts';
import { startServe } from '../../src/serve/serve.ts';
import { issue, newAuthority } from '../support/servers/certificates.ts';

/** Model servers whose metrics are served over HTTPS. */

const folder = mkdtempSync(join(tmpdir(), 'pointsman-https-'));
const caCertPath = join(folder, 'ca.pem');
let address = '';
let scrapes = 0;
let close = (): void => undefined;

beforeAll(async () => {
  const authority = await newAuthority('ours');
  writeFileSync(caCertPath, authority.cert);
  const server = createServer(await issue(authority, 'vllm.test'), (_request, response) => {
    scrapes += 1;
    response.end('vllm:num_requests_running 1\nvllm:num_requests_waiting 0\n');
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  close = () => {
    server.closeAllConnections();
    server.close();
  };
});
afterAll(() => {
  close();
  rmSync(folder, { recursive: true });
});

function configWith(parameters: object): string {
  const path = join(folder, 'config.yaml');
  const kind = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
  const source = { type: 'metrics-data-source', parameters: { scheme: 'https', ...parameters } };
  const plugins = [source, { type: 'queue-scorer' }];
  writeFileSync(path, JSON.stringify({ ...kind, plugins }));
  return path;
}

/** What `/debug/endpoints` says of the one endpoint, once it is right. */
async function endpointWith(parameters: object, right: (text: string) => boolean): Promise<string> {
  const options = serveOptions({ endpoints: [address] }, configWith(parameters));
  const serving = await startServe(options);
  try {
    const url = `http://127.0.0.1:${serving.metricsPort}/debug/endpoints`;
    return await eventually(async () => (await fetch(url)).text(), right);
  } finally {
    await serving.stop({ notice: false });
  }
}

it('[V29] scrapes over HTTPS with the authority of the servers, and says why not without it', async () => {
  const refused = await endpointWith({}, (text) => text.includes('not trusted'));
  expect(refused).toContain('give it as caCertPath, or insecureSkipVerify: true');
  expect(refused).toContain('"fresh": false');
  expect(scrapes).toBe(0);
  await endpointWith({ caCertPath }, (text) => text.includes('"fresh": true'));
  await endpointWith({ insecureSkipVerify: true }, (text) => text.includes('"fresh": true'));
});

it('[V29] warns of a configuration that verifies no certificates', () => {
  expect(planFrom(configWith({ insecureSkipVerify: true })).warnings).toEqual([
    expect.stringMatching(/^plugins\[0\]\.parameters\.insecureSkipVerify: certificates are not/),
  ]);
  expect(planFrom(configWith({ caCertPath })).warnings).toEqual([]);
  // As reference configurations have it, for HTTP.
  const plain = planFrom(configWith({ scheme: 'http', insecureSkipVerify: true }));
  expect(plain.warnings).toEqual([]);
});

it.each([{ clientCertPath: '/a' }, { clientKeyPath: '/a' }])('refuses half a pair: %j', (half) => {
  expect(() => planFrom(configWith(half))).toThrow(/clientCertPath and clientKeyPath belong/);
});
