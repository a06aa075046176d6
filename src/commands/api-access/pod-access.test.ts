import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { issue, newAuthority } from '../../../test/support/servers/certificates.ts';
import { connectApi } from '../../endpoints/discovery/kubernetes/api/api-connection.ts';
import { podAccess } from './pod-access.ts';

const folders: string[] = [];
const LIMITS = { bytesMax: 1024, timeoutMs: 10_000 };
let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  for (const made of folders.splice(0)) rmSync(made, { recursive: true });
});

/** What Kubernetes gives a pod whose account has this token. */
function account(token: string, authority: string | Buffer): string {
  const made = mkdtempSync(join(tmpdir(), 'pointsman-pod-'));
  folders.push(made);
  writeFileSync(join(made, 'token'), token);
  writeFileSync(join(made, 'ca.crt'), authority);
  return made;
}

const at = (port: number, host = '127.0.0.1'): NodeJS.ProcessEnv => ({
  KUBERNETES_SERVICE_HOST: host,
  KUBERNETES_SERVICE_PORT: String(port),
});

describe('[B253] the access of a pod', () => {
  it('asks with the token and the authorities of that moment', async () => {
    const [first, second] = [await newAuthority('one'), await newAuthority('two')];
    server = createServer(await issue(first, 'api'), ({ headers }, response) => {
      response.end(headers.authorization);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const files = account('old', first.cert);
    const access = podAccess(at((server.address() as AddressInfo).port), files);
    const ask = async (): Promise<string | undefined> => {
      const api = await connectApi(access ?? expect.fail('no pod'));
      return api.text({ path: '/' }, LIMITS).finally(() => api.close());
    };
    expect(await ask()).toBe('Bearer old');
    writeFileSync(join(files, 'token'), 'new\n');
    expect(await ask()).toBe('Bearer new');
    writeFileSync(join(files, 'ca.crt'), second.cert);
    await expect(ask()).rejects.toThrow('unable to verify the first certificate');
    server.setSecureContext(await issue(second, 'api'));
    expect(await ask()).toBe('Bearer new');
  });

  it('is at the address that Kubernetes gives the pod', () => {
    const files = account('t', 'c');
    expect(podAccess(at(443, '10.96.0.1'), files)?.server).toBe('https://10.96.0.1:443');
    expect(podAccess(at(6443, 'fd00::1'), files)?.server).toBe('https://[fd00::1]:6443');
  });

  it('is not there outside of one, or where the pod gets no token', () => {
    const files = account('t', 'c');
    expect(podAccess({}, files)).toBeUndefined();
    expect(podAccess({ KUBERNETES_SERVICE_HOST: 'h' }, files)).toBeUndefined();
    rmSync(join(files, 'token'));
    expect(podAccess(at(443), files)).toBeUndefined();
  });
});
