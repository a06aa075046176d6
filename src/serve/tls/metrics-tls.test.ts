import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../../bench/support/stack.ts';
import { issue, newAuthority } from '../../../test/support/servers/certificates.ts';
import type { Certificate } from '../../extproc/server/port/tls-credentials.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { createLog } from '../../runtime/log/log.ts';
import { type AdminServer, startAdminServer } from '../admin/admin-server.ts';
import { type MetricsTlsOptions, metricsTls } from './metrics-tls.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-metrics-tls-'));
const authorities = join(folder, 'clients.pem');
const log = createLog('silent');
const clock = new SimulatedClock({ epoch: Date.now() });
let registry = new Registry();
let authority: Certificate;
let first: Certificate;
let second: Certificate;
let server: AdminServer | undefined;

function write({ cert, key }: Certificate): void {
  writeFileSync(join(folder, 'tls.key'), key);
  writeFileSync(join(folder, 'tls.crt'), cert);
}

beforeAll(async () => {
  authority = await newAuthority('ours');
  [first, second] = [await issue(authority, 'first.test'), await issue(authority, 'second.test')];
  writeFileSync(authorities, authority.cert);
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  registry = new Registry();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function start(options: MetricsTlsOptions): Promise<void> {
  server = await startAdminServer({
    host: '127.0.0.1',
    port: 0,
    metricsPage: () => Promise.resolve({ contentType: 'text/plain', body: 'a_total 1\n' }),
    ready: () => ({ ok: true, state: 'ready', reasons: [], detail: {} }),
    documents: new Map(),
    tls: metricsTls(options, { log, registry, clock }),
  });
}

/** The page, and the name in the certificate of the server. */
function page(options: RequestOptions = {}): Promise<readonly [text: string, name: unknown]> {
  return new Promise((resolve, reject) => {
    const asked = { ...options, port: server?.port, ca: authority.cert, agent: false };
    const request = get({ ...asked, host: '127.0.0.1', path: '/metrics' }, (response) => {
      const name = (response.socket as TLSSocket).getPeerCertificate().subject.CN;
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve([text, name]));
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}

test('[D102] the metrics port answers by TLS, with a changed certificate once it is there', async () => {
  write(first);
  await start({ metricsCertDir: folder });
  expect(await page()).toEqual(['a_total 1\n', 'first.test']);
  write(second);
  await eventually(page, ([, name]) => name === 'second.test');
});

test('[D102] it answers only clients with a certificate of its authorities', async () => {
  write(first);
  await start({ metricsCertDir: folder, metricsClientCaFile: authorities });
  await expect(page()).rejects.toThrow();
  expect((await page({ cert: second.cert, key: second.key }))[0]).toBe('a_total 1\n');
  const stranger = await issue(await newAuthority('other'), 'stranger.test');
  await expect(page({ cert: stranger.cert, key: stranger.key })).rejects.toThrow();
});

test('[D102] flags and files that cannot be used are refused by their names', () => {
  write(first);
  expect(() => metricsTls({ metricsClientCaFile: authorities }, { log, registry, clock })).toThrow(
    '--metrics-client-ca-file: needs --metrics-cert-dir',
  );
  const odd = { metricsCertDir: folder, metricsClientCaFile: join(folder, 'tls.key') };
  expect(() => metricsTls(odd, { log, registry, clock })).toThrow('--metrics-client-ca-file');
  writeFileSync(join(folder, 'tls.key'), second.key);
  expect(() => metricsTls({ metricsCertDir: folder }, { log, registry, clock })).toThrow(
    '--metrics-cert-dir',
  );
  expect(metricsTls({}, { log, registry, clock })).toBeUndefined();
});

test('[V268] a bad change is one line in its log, and is counted, however many events it causes', async () => {
  write(first);
  const lines: unknown[] = [];
  const counted = Object.assign(createLog('silent'), {
    error: (line: unknown) => lines.push(line),
  });
  const tls = metricsTls({ metricsCertDir: folder }, { log: counted, registry, clock });
  let used = 0;
  const following = tls?.follow(() => {
    used += 1;
  });
  const outcomes = async (): Promise<readonly (number | undefined)[]> => {
    const [metric] = await registry.getMetricsAsJSON();
    return (metric?.values ?? []).map(({ value }) => Number(value));
  };
  writeFileSync(join(folder, 'tls.key'), '');
  await eventually(outcomes, ([, refused]) => refused === 1);
  for (const name of ['tls.key', 'tls.crt', 'tls.key']) writeFileSync(join(folder, name), '');
  await eventually(outcomes, ([, refused]) => refused === 2);
  write(second);
  await eventually(outcomes, ([adopted]) => adopted === 1);
  await following?.stop();
  // One for the key alone, one for the certificate that is checked before it.
  expect([lines.length, used]).toEqual([2, 1]);
});

test('[V495] says that its certificate has expired, until another one is in its place', async () => {
  const { cert, key } = await issue(authority, 'expiring.test', { expiresInDays: 2 });
  write({ cert, key });
  const tls = metricsTls({ metricsCertDir: folder }, { log, registry, clock });
  const following = tls?.follow(() => undefined);
  expect(tls?.invalidity()).toBeUndefined();
  clock.advanceTo(clock.now() + 3 * 24 * 3_600_000);
  expect(tls?.invalidity()).toBe('has expired');
  write(await issue(authority, 'renewed.test', { expiresInDays: 9 }));
  await eventually(
    () => tls?.invalidity(),
    (why) => why === undefined,
  );
  await following?.stop();
});

test('[V559] one that has expired does not take the place of one that has not', async () => {
  write(first);
  const refused: unknown[] = [];
  const counted = Object.assign(createLog('silent'), {
    error: (line: unknown) => refused.push(line),
  });
  const tls = metricsTls({ metricsCertDir: folder }, { log: counted, registry, clock });
  const used: unknown[] = [];
  const following = tls?.follow(({ cert }) => used.push(cert));
  write(await issue(authority, 'late.test', { expiresInDays: -1 }));
  await eventually(
    () => tls?.lastError(),
    (why) => why?.includes('late.test has expired') === true,
  );
  expect([used, tls?.invalidity()]).toEqual([[], undefined]);
  write(second);
  await eventually(
    () => used,
    (certificates) => certificates.length === 1,
  );
  expect([used, tls?.lastError()]).toEqual([[second.cert], undefined]);
  expect(refused.length).toBeGreaterThan(0);
  await following?.stop();
});
