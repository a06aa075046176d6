import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerOptions } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { issue, newAuthority } from '../../../test/support/servers/certificates.ts';
import type { Certificate } from '../../extproc/server/port/tls-credentials.ts';
import type { HttpTls } from '../../framework/runtime.ts';
import { OutgoingFiles } from './client/outgoing-files.ts';
import { createNodeNetwork } from './node-network.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-https-'));
const LIMITS = { timeoutMs: 30_000, bodyBytesMax: 1024 };
const PROMPT = new TextEncoder().encode('{"prompt":"a secret"}');
const closers: (() => Promise<unknown> | void)[] = [];
let authority: Certificate;
let server: Certificate;

const file = (name: string, content: Buffer): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

beforeAll(async () => {
  authority = await newAuthority('ours');
  server = await issue(authority, 'vllm.test');
  file('ca.pem', authority.cert);
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Served {
  readonly url: URL;
  /** Bodies of requests that came. */
  readonly received: string[];
}

async function serve(options: ServerOptions): Promise<Served> {
  const received: string[] = [];
  const https = createServer(options, (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      received.push(body);
      response.end('page');
    });
  });
  // Errors of clients that do not accept the certificate.
  https.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    https.closeAllConnections();
    https.close();
  });
  return { url: new URL(`https://127.0.0.1:${(https.address() as AddressInfo).port}/p`), received };
}

/** The answers to a `get` and to a `post`, or what their errors say. */
async function ask(url: URL, tls?: HttpTls): Promise<readonly string[]> {
  const network = createNodeNetwork();
  closers.push(() => network.close());
  const options = { ...LIMITS, tls };
  const asked = [network.get(url, options), network.post(url, PROMPT, options)];
  const outcomes = await Promise.allSettled(asked);
  return outcomes.map((outcome) =>
    outcome.status === 'fulfilled'
      ? Buffer.from(outcome.value.body).toString()
      : String((outcome.reason as Error).message),
  );
}

const both = (text: string | RegExp): readonly unknown[] => {
  const each: unknown = typeof text === 'string' ? text : expect.stringMatching(text);
  return [each, each];
};

describe('HTTPS', () => {
  it('[V29] sends nothing to a server whose certificate is not of a trusted authority', async () => {
    const { url, received } = await serve(server);
    expect(await ask(url)).toEqual(
      both(
        /^https:\S+: the certificate’s authority is not trusted: give it as caCert.* \(UNABLE_TO_/,
      ),
    );
    expect(await ask(url, {})).toEqual(both(/not trusted/));
    const other = file('other.pem', (await newAuthority('other')).cert);
    expect(await ask(url, { caPath: other })).toEqual(both(/not trusted/));
    expect(received).toEqual([]);
  });

  it('[V29] accepts a certificate of a given authority, for the address or the given name', async () => {
    const { url, received } = await serve(server);
    const caPath = join(folder, 'ca.pem');
    expect(await ask(url, { caPath })).toEqual(both('page'));
    expect(await ask(url, { caPath, serverName: 'vllm.test' })).toEqual(both('page'));
    expect(received).toHaveLength(4);
    expect(await ask(url, { caPath, serverName: 'other.test' })).toEqual(
      both(/the certificate is for other names: give one of them as serverName/),
    );
    const elsewhere = await serve(await issue(authority, 'vllm.test', { ip: '127.0.0.2' }));
    expect(await ask(elsewhere.url, { caPath })).toEqual(both(/other names/));
    expect([received.length, elsewhere.received]).toEqual([4, []]);
  });

  it('[V29] refuses a certificate that has expired', async () => {
    const { url } = await serve(await issue(authority, 'vllm.test', { expiresInDays: -1 }));
    expect(await ask(url, { caPath: join(folder, 'ca.pem') })).toEqual(
      both(/the server needs a new certificate/),
    );
  });

  it('verifies nothing only where that is demanded', async () => {
    const { url } = await serve(server);
    expect(await ask(url, { insecureSkipVerify: true })).toEqual(both('page'));
  });

  it('[V29] shares no connection between requests that verify and those that do not', async () => {
    const { url } = await serve(server);
    const network = createNodeNetwork();
    closers.push(() => network.close());
    const skipping = { ...LIMITS, tls: { insecureSkipVerify: true } };
    await network.get(url, skipping);
    await expect(network.get(url, LIMITS)).rejects.toThrow('not trusted');
    expect((await network.get(url, skipping)).status).toBe(200);
  });

  it('shows its certificate to a server that demands one, and reads it for each connection', async () => {
    const { url } = await serve({ ...server, ca: authority.cert, requestCert: true });
    const { cert, key } = await issue(authority, 'picker');
    const [certPath, keyPath] = [file('client.pem', cert), file('client.key', key)];
    const tls = { caPath: join(folder, 'ca.pem'), certPath, keyPath };
    expect(await ask(url, { caPath: tls.caPath })).not.toEqual(both('page'));
    expect(await ask(url, tls)).toEqual(both('page'));
    rmSync(certPath);
    expect(await ask(url, tls)).toEqual(both(/client\.pem/));
    file('client.pem', cert);
    expect(await ask(url, tls)).toEqual(both('page'));
  });

  it('[V453] goes on with the files used last while new ones cannot be used, and says so once', async () => {
    const warnings: string[] = [];
    const { cert, key } = await issue(authority, 'picker');
    const [caPath, certPath] = [file('follow.pem', authority.cert), file('follow.crt', cert)];
    const tls = { caPath, certPath, keyPath: file('follow.key', key) };
    const network = createNodeNetwork({ warnOfFile: (text) => void warnings.push(text) });
    closers.push(() => network.close());
    /** What a server says that is new to the network, so that it connects. */
    const fresh = async (by: Certificate): Promise<string> => {
      const { url } = await serve({ ...(await issue(by, 'a')), ca: by.cert, requestCert: true });
      const { body } = await network.get(url, { ...LIMITS, tls });
      return Buffer.from(body).toString();
    };
    expect(await fresh(authority)).toBe('page');
    for (const broken of [authority.cert.subarray(0, 300), Buffer.alloc(0)]) {
      file('follow.pem', broken);
      expect(await fresh(authority)).toBe('page');
    }
    file('follow.pem', authority.cert);
    expect(await fresh(authority)).toBe('page');
    file('follow.key', key.subarray(0, 60));
    expect(await fresh(authority)).toBe('page');
    rmSync(certPath);
    expect(await fresh(authority)).toBe('page');
    expect(warnings).toEqual([
      expect.stringContaining('follow.pem has no certificates, or not all of them whole'),
      expect.stringContaining('follow.crt with'),
    ]);
    const next = await newAuthority('next');
    const own = await issue(next, 'picker');
    file('follow.pem', next.cert);
    file('follow.crt', own.cert);
    file('follow.key', own.key);
    expect(await fresh(next)).toBe('page');
    await expect(fresh(authority)).rejects.toThrow('not trusted');
  });
});

it('[V557] a damaged certificate among authorities leaves those that were used last, and is said once', () => {
  const warnings: string[] = [];
  const files = new OutgoingFiles({ warn: (text) => void warnings.push(text) });
  const caPath = file('several.pem', authority.cert);
  const read = (): string => String(files.read({ caPath }).ca);
  expect(read()).toBe(String(authority.cert));
  const damaged = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  // Node gives up at the first one that it cannot read, and passes over those behind it.
  for (const text of [damaged, `${damaged}${String(authority.cert)}`]) {
    file('several.pem', Buffer.from(text));
    expect(read()).toBe(String(authority.cert));
  }
  expect(warnings).toEqual([expect.stringContaining('several.pem has a damaged certificate')]);
  const twice = `${String(authority.cert)}\n${String(authority.cert)}`;
  file('several.pem', Buffer.from(twice));
  expect(read()).toBe(twice);
});

it('[O301] says that no connection was made where another request’s time ended meanwhile', async () => {
  const silent = createTcpServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  closers.push(() => void silent.close());
  const network = createNodeNetwork();
  closers.push(() => network.close());
  const url = new URL(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/p`);
  const gets = [20, 30_000].map((timeoutMs) => network.get(url, { ...LIMITS, timeoutMs }));
  const [first, second] = await Promise.allSettled(gets);
  expect(first).toMatchObject({ reason: { message: expect.stringContaining('within 20 ms') } });
  expect(second).toMatchObject({
    reason: { message: expect.stringContaining('no connection was made') },
  });
});
