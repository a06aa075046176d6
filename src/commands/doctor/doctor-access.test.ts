import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { accessFindings } from './doctor-access.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-doctor-access-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What the doctor says to do where an API server at this address is asked. */
async function mendAt(server: string): Promise<string | undefined> {
  const kubeconfig = join(folder, 'config');
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 'a-token-of-a-test' } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(document));
  const asked = { namespace: 'default', serviceAccount: 'pointsman' };
  const [finding] = await accessFindings(kubeconfig, asked);
  expect(finding?.id).toBe('rights-unknown');
  return finding?.mend;
}

it.each([
  [401, /still valid/],
  [403, /may create subjectaccessreviews/],
])('[O516] doctor says what to do where the API server answers %i', async (status, mend) => {
  const server = createServer((_, response) => void response.writeHead(status).end('{}'));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    expect(await mendAt(`http://127.0.0.1:${port}`)).toMatch(mend);
  } finally {
    server.close();
  }
});

it('[O516] doctor says to reach the API server where nothing answers', async () => {
  expect(await mendAt('http://127.0.0.1:9')).toMatch(/^Let this machine reach the API server/);
});
