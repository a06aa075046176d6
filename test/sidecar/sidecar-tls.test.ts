import type { ChildProcess } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import type { Certificate } from '../../src/extproc/server/port/tls-credentials.ts';
import { startProgram } from '../support/programs/started-program.ts';
import { issue, newAuthority } from '../support/servers/certificates.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

/** TLS at the sidecar's own port, by the command line of the reference's sidecar. */

let engine: Upstream;
let folder: string;
let authority: Certificate;
const children: ChildProcess[] = [];
const servers: Server[] = [];

beforeEach(async () => {
  engine = await startUpstream();
  folder = mkdtempSync(join(tmpdir(), 'pointsman-sidecar-tls-'));
  authority = await newAuthority('authority');
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const server of servers.splice(0)) server.close().closeAllConnections();
  await engine.stop();
  rmSync(folder, { recursive: true });
});

async function write(name: string): Promise<void> {
  const { cert, key } = await issue(authority, name);
  writeFileSync(join(folder, 'tls.key'), key);
  writeFileSync(join(folder, 'tls.crt'), cert);
}

interface Started {
  readonly address: string;
  readonly lines: readonly string[];
}

async function start(flags: readonly string[]): Promise<Started> {
  const enginePort = engine.address.split(':')[1] ?? '';
  const args = ['--host=127.0.0.1', '--port=0', `--model-server-port=${enginePort}`];
  const started = await startProgram<{ readonly address: string }>([...args, ...flags]);
  children.push(started.child);
  return { address: started.document.address, lines: started.lines };
}

/** The name in the certificate of a new connection, and the status of an answer over it. */
function ask(address: string, trusted: object): Promise<readonly [string, number | undefined]> {
  return new Promise((resolve, reject) => {
    get(`https://${address}/v1/models`, { agent: false, ...trusted }, (response) => {
      const { CN } = (response.socket as TLSSocket).getPeerCertificate().subject;
      response.resume().on('end', () => resolve([String(CN), response.statusCode]));
    }).on('error', reject);
  });
}

it('[B77] serves the certificate of a folder, and a new one to new connections', async () => {
  await write('first');
  const { address, lines } = await start([`--cert-path=${folder}`]);
  const trusted = { ca: authority.cert };
  expect(await ask(address, trusted)).toEqual(['first', 200]);
  writeFileSync(join(folder, 'tls.crt'), 'damaged');
  await eventually(
    () => lines.some((line) => line.includes('certificate refused')),
    (refused) => refused,
  );
  expect(await ask(address, trusted)).toEqual(['first', 200]);
  await write('second');
  await eventually(
    () => ask(address, trusted),
    ([name]) => name === 'second',
  );
});

it('[V486] says once that a certificate is refused, or replaced, and nothing where it is as before', async () => {
  await write('first');
  const { address, lines } = await start([`--cert-path=${folder}`]);
  const trusted = { ca: authority.cert };
  const said = (): readonly string[] =>
    lines.flatMap((line) => /certificate (?:refused|replaced)/.exec(line) ?? []);
  const after = (count: number): Promise<unknown> =>
    eventually(said, (found) => found.length >= count);
  expect(await ask(address, trusted)).toEqual(['first', 200]);
  writeFileSync(join(folder, 'tls.crt'), 'damaged');
  await after(1);
  await write('second');
  await after(2);
  // By now both files have been looked at after the change before.
  writeFileSync(join(folder, 'tls.key'), 'damaged, too');
  await after(3);
  expect(said()).toEqual(['refused', 'replaced', 'refused'].map((each) => `certificate ${each}`));
});

it('[B77] makes a certificate where there is none, as the reference does', async () => {
  const { address } = await start([]);
  await expect(ask(address, {})).rejects.toThrow(/self-signed/);
  const [, status] = await ask(address, { rejectUnauthorized: false });
  expect(status).toBe(200);
});

it('[B77] serves without TLS where the command line says so', async () => {
  const { address } = await start(['--secure-proxy=false', '-v=5']);
  expect((await fetch(`http://${address}/v1/models`)).status).toBe(200);
});

/** A prefilling server with a certificate of this authority, whose connections end with answers. */
async function prefiller(by: Certificate): Promise<string> {
  const server = createServer(await issue(by, 'prefiller'), (request, response) => {
    request.resume();
    response.setHeader('connection', 'close').end('{"kv_transfer_params":{"a":1}}');
  });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('[V488] [V489] [V565] follows the authorities of other servers: a new one counts, and a damaged file changes nothing', async () => {
  const other = await newAuthority('other');
  const [ours, theirs] = [await prefiller(authority), await prefiller(other)];
  const file = join(folder, 'ca.pem');
  writeFileSync(file, authority.cert);
  const flags = ['--engine', engine.address, '--enable-tls', 'prefiller', '--tls-ca', file];
  const ports = ['--host', '127.0.0.1', '--port', '0', '--metrics-port', '0'];
  const started = await startProgram<{ readonly address: string; readonly metricsPort: number }>([
    'sidecar',
    ...ports,
    ...flags,
  ]);
  children.push(started.child);
  const { address, metricsPort } = started.document;
  /** Whether the engine got a request with KV of that server. */
  const prefilled = async (server: string): Promise<boolean> => {
    const body = '{"model":"m","prompt":"x"}';
    const headers = { 'x-prefiller-host-port': server };
    await fetch(`http://${address}/v1/completions`, { method: 'POST', headers, body });
    return (engine.received.at(-1)?.bodyBytes ?? 0) > body.length;
  };
  const readiness = async (): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/readyz`);
    return answer.json();
  };
  expect([await prefilled(ours), await prefilled(theirs)]).toEqual([true, false]);
  writeFileSync(file, 'damaged');
  await eventually(readiness, (answer) => JSON.stringify(answer).includes('degraded'));
  expect(JSON.stringify(await readiness())).toContain('the authorities of --tls-ca are refused');
  expect(await prefilled(ours)).toBe(true);
  writeFileSync(file, other.cert);
  await eventually(readiness, (answer) => !JSON.stringify(answer).includes('degraded'));
  expect([await prefilled(ours), await prefilled(theirs)]).toEqual([false, true]);
  const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  for (const outcome of ['adopted', 'refused']) {
    expect(page).toContain(`pointsman_outgoing_tls_reloads_total{outcome="${outcome}"} 1\n`);
  }
});

it('[V565] counts the changes of its certificate, and shows when that ends to be valid', async () => {
  await write('first');
  const flags = `--host 127.0.0.1 --port 0 --engine ${engine.address} --secure-serving`;
  const started = await startProgram<{ readonly metricsPort: number }>([
    ...`sidecar ${flags} --metrics-port 0`.split(' '),
    '--cert-path',
    folder,
  ]);
  children.push(started.child);
  const { metricsPort } = started.document;
  const shows = (outcome: string): Promise<unknown> =>
    eventually(
      async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
      (page) => page.includes(`pointsman_certificate_reloads_total{outcome="${outcome}"} 1\n`),
    );
  writeFileSync(join(folder, 'tls.crt'), 'damaged');
  await shows('refused');
  await write('second');
  await shows('adopted');
  const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const [, endsAt] = /^pointsman_certificate_expiry_timestamp_seconds (\d+)$/m.exec(page) ?? [];
  const { validTo } = new X509Certificate(readFileSync(join(folder, 'tls.crt')));
  expect(Number(endsAt)).toBe(Date.parse(validTo) / 1000);
});

it('[V495] is degraded while the certificates of its ports have expired', async () => {
  const { cert, key } = await issue(authority, 'expired', { expiresInDays: -1 });
  writeFileSync(join(folder, 'tls.key'), key);
  writeFileSync(join(folder, 'tls.crt'), cert);
  const flags = `--host 127.0.0.1 --port 0 --engine ${engine.address} --secure-serving`;
  const started = await startProgram<{ readonly metricsPort: number }>([
    ...`sidecar ${flags} --metrics-port 0`.split(' '),
    '--cert-path',
    folder,
    '--metrics-cert-dir',
    folder,
  ]);
  children.push(started.child);
  const page = await new Promise<string>((resolve, reject) => {
    const { metricsPort: port } = started.document;
    get({ host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve(text));
    }).on('error', reject);
  });
  expect(JSON.parse(page)).toMatchObject({
    state: 'degraded',
    reasons: ['the certificate has expired', 'the certificate of the metrics port has expired'],
  });
});
