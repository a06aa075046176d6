import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { Client, credentials } from '@grpc/grpc-js';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../bench/support/stack.ts';
import { issue, newAuthority } from '../../../test/support/servers/certificates.ts';
import { shake, startTlsServer, type TlsServer } from '../../../test/support/servers/tls-server.ts';
import type { Certificate } from '../../extproc/server/port/tls-credentials.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import type { Log } from '../../runtime/log/log.ts';
import { startTls, type TlsOptions } from './start-tls.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-tls-'));
const clientCaFile = join(folder, 'clients.pem');
const stops: (() => Promise<void> | void)[] = [];
let authority: Certificate;
let otherAuthority: Certificate;
let first: Certificate;
let second: Certificate;

beforeAll(async () => {
  [authority, otherAuthority] = [await newAuthority('ours'), await newAuthority('other')];
  first = await issue(authority, 'first.test');
  second = await issue(authority, 'second.test');
  writeFileSync(clientCaFile, authority.cert);
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function start(options: Partial<TlsOptions>): Promise<TlsServer> {
  const server = await startTlsServer(options);
  stops.push(() => server.stop());
  return server;
}

const nameAt = (port: number): Promise<string> => shake(port, { ca: authority.cert });

/** As a kubelet swaps the files of a Secret: in one step, by the link `..data`. */
function secretIn(name: string): (pair: Certificate) => void {
  const path = join(folder, name);
  mkdirSync(path);
  let version = 0;
  return ({ cert, key }) => {
    version += 1;
    const data = join(path, `..${version}`);
    mkdirSync(data);
    writeFileSync(join(data, 'tls.crt'), cert);
    writeFileSync(join(data, 'tls.key'), key);
    symlinkSync(`..${version}`, join(path, '..data_tmp'));
    renameSync(join(path, '..data_tmp'), join(path, '..data'));
    if (version > 1) return rmSync(join(path, `..${version - 1}`), { recursive: true });
    symlinkSync('..data/tls.crt', join(path, 'tls.crt'));
    symlinkSync('..data/tls.key', join(path, 'tls.key'));
  };
}

describe('rotation', () => {
  it('[V25] uses a replaced certificate for new connections, and drops no stream', async () => {
    const publish = secretIn('rotated');
    publish(first);
    const { port, metric, lines } = await start({ certPath: join(folder, 'rotated') });
    expect(await nameAt(port)).toBe('first.test');
    const client = new Client(`127.0.0.1:${port}`, credentials.createSsl(authority.cert));
    stops.push(() => client.close());
    const bytes = (buffer: Buffer): Buffer => buffer;
    const stream = client.makeBidiStreamRequest<Buffer, Buffer>('/t/Echo', bytes, bytes);
    const failures: unknown[] = [];
    stream.on('error', (error) => failures.push(error));
    const echoed: string[] = [];
    stream.on('data', (message: Buffer) => echoed.push(message.toString()));
    stream.write(Buffer.from('before'));
    await eventually(
      () => echoed,
      (all) => all.length === 1,
    );
    publish(second);
    await eventually(
      () => nameAt(port),
      (name) => name === 'second.test',
    );
    stream.write(Buffer.from('after'));
    await eventually(
      () => echoed,
      (all) => all.length === 2,
    );
    expect([echoed, failures]).toEqual([['before', 'after'], []]);
    expect(await metric('pointsman_certificate_reloads_total adopted')).toBe(1);
    expect(lines.at(-1)).toMatchObject({ level: 'info', fields: { subject: 'CN=second.test' } });
    stream.cancel();
  });

  it('[V25] [V488] keeps the certificate while its files are not a valid pair, and says why once', async () => {
    const publish = secretIn('broken');
    publish(first);
    const started = await start({ certPath: join(folder, 'broken') });
    const { port, metric, lines } = started;
    publish({ cert: second.cert, key: first.key });
    const refused = (): Promise<number | undefined> =>
      metric('pointsman_certificate_reloads_total refused');
    await eventually(refused, (count) => count === 1);
    expect(await nameAt(port)).toBe('first.test');
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    expect(String(lines.at(-1)?.fields['error'])).toMatch(/tls\.key: is not the key of .*tls\.crt/);
    expect(started.lastError()).toBe(lines.at(-1)?.fields['error']);
    publish(second);
    await eventually(
      () => nameAt(port),
      (name) => name === 'second.test',
    );
    expect(started.lastError()).toBeUndefined();
  });

  it('[V25] follows files that are written in place, one after the other', async () => {
    const path = join(folder, 'plain');
    mkdirSync(path);
    const write = ({ cert, key }: Certificate): void => {
      writeFileSync(join(path, 'tls.crt'), cert);
      writeFileSync(join(path, 'tls.key'), key);
    };
    write(first);
    const { port } = await start({ certPath: path });
    write(second);
    await eventually(
      () => nameAt(port),
      (name) => name === 'second.test',
    );
    unlinkSync(join(path, 'tls.key'));
    expect(await nameAt(port)).toBe('second.test');
  });

  it('[V25] exports when the certificate expires, and warns a week before, once', async () => {
    const path = join(folder, 'expiring');
    mkdirSync(path);
    const { cert, key } = await issue(authority, 'expiring.test', { expiresInDays: 8 });
    writeFileSync(join(path, 'tls.crt'), cert);
    writeFileSync(join(path, 'tls.key'), key);
    const { metric, clock, lines } = await start({ certPath: path });
    const expiresAtS = (await metric('pointsman_certificate_expiry_timestamp_seconds')) ?? 0;
    expect(expiresAtS - clock.wallTime() / 1000).toBeGreaterThan(7.9 * 24 * 3600);
    const warnings = (): readonly string[] =>
      lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    expect(warnings()).toEqual([]);
    clock.advanceTo(2 * 24 * 3_600_000);
    expect(warnings()).toEqual(['the certificate expires soon: replace tls.crt and tls.key']);
  });

  it('[O366] [V495] says that a certificate is not valid yet, and later that it expires, once each', async () => {
    const path = join(folder, 'early');
    mkdirSync(path);
    const options = { beginsInDays: 2, expiresInDays: 12 };
    const { cert, key } = await issue(authority, 'early.test', options);
    writeFileSync(join(path, 'tls.crt'), cert);
    writeFileSync(join(path, 'tls.key'), key);
    const { metric, clock, lines, invalidity } = await start({ certPath: path });
    expect(invalidity()).toBe('is not valid yet');
    const beginsAtS = (await metric('pointsman_certificate_begin_timestamp_seconds')) ?? 0;
    expect(beginsAtS - clock.wallTime() / 1000).toBeGreaterThan(1.9 * 24 * 3600);
    const warnings = (): readonly string[] =>
      lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    clock.advanceTo(24 * 3_600_000);
    expect(warnings()).toEqual([expect.stringMatching(/is not valid yet, .* correct the clock/)]);
    clock.advanceTo(6 * 24 * 3_600_000);
    expect(warnings().slice(1)).toEqual([
      'the certificate expires soon: replace tls.crt and tls.key',
    ]);
    expect(invalidity()).toBeUndefined();
    clock.advanceTo(13 * 24 * 3_600_000);
    expect(invalidity()).toBe('has expired');
  });

  it('[V559] refuses one that has expired in the place of one that has not, and takes the next', async () => {
    const put = secretIn('late');
    put(first);
    const { port, lastError, metric } = await start({ certPath: join(folder, 'late') });
    put(await issue(authority, 'late.test', { expiresInDays: -1 }));
    await eventually(lastError, (why) => why?.includes('late.test has expired') === true);
    expect(await nameAt(port)).toBe('first.test');
    expect(await metric('pointsman_certificate_reloads_total refused')).toBe(1);
    put(second);
    await eventually(
      () => nameAt(port),
      (name) => name === 'second.test',
    );
    expect(lastError()).toBeUndefined();
  });
});

describe('client certificates', () => {
  it('[V26] accepts only clients of the authorities, and says why others are not', async () => {
    const { port, lines, metric } = await start({ clientCaFile });
    const asClient = (pair: Certificate): Promise<string> =>
      shake(port, { ...pair, rejectUnauthorized: false });
    expect(await asClient(await issue(authority, 'gateway'))).toBe('pointsman');
    expect(await shake(port, { rejectUnauthorized: false })).toMatch(/CERTIFICATE_REQUIRED|closed/);
    expect(await asClient(await issue(otherAuthority, 'gateway'))).toMatch(/ECONNRESET|closed/);
    const expired = await issue(authority, 'gateway', { expiresInDays: -1 });
    expect(await asClient(expired)).toMatch(/ECONNRESET|closed/);
    await eventually(
      () => metric('pointsman_client_faults_total untrusted-certificate'),
      (count) => count === 2,
    );
    expect(await metric('pointsman_client_faults_total no-certificate')).toBe(1);
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        message: expect.stringContaining('a client has no certificate'),
        fields: { code: 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE', from: '127.0.0.1' },
      },
      expect.objectContaining({ message: expect.stringContaining('no authority in --client-ca') }),
    ]);
  });

  it('[V26] follows the file of authorities, and resumes no session of one that was removed', async () => {
    const path = join(folder, 'following.pem');
    writeFileSync(path, Buffer.concat([authority.cert, Buffer.from('\n'), otherAuthority.cert]));
    const { port } = await start({ clientCaFile: path });
    const pair = await issue(otherAuthority, 'gateway');
    let session: Buffer | undefined;
    const ask = (): Promise<string> =>
      shake(port, { ...pair, rejectUnauthorized: false, ...(session && { session }) });
    const keeping = connect({
      host: '127.0.0.1',
      port,
      ...pair,
      rejectUnauthorized: false,
      ALPNProtocols: ['h2'],
    });
    keeping.on('session', (ticket) => {
      session = ticket;
    });
    await eventually(
      () => session,
      (ticket) => ticket !== undefined,
    );
    expect(await ask()).toBe('resumed');
    writeFileSync(path, authority.cert);
    await eventually(ask, (outcome) => /ECONNRESET|closed/.test(outcome));
    keeping.destroy();
  });

  it.each([
    ['', /is not PEM: it has no line -----BEGIN CERTIFICATE-----/],
    ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', /is a damaged CERTIFICATE/],
  ])('refuses a file of authorities without any: %j', async (content, said) => {
    const path = join(folder, 'bad.pem');
    writeFileSync(path, content);
    await expect(start({ clientCaFile: path })).rejects.toThrow(said);
  });

  it('[O257] says that a certificate has no effect without TLS', async () => {
    const said: unknown[] = [];
    const log = { warn: (...args: unknown[]) => void said.push(args) } as unknown as Log;
    const parts = { registry: new Registry(), clock: new SimulatedClock(), log };
    await startTls({ insecure: true, certPath: '' }, parts);
    expect(said).toEqual([]);
    await startTls({ insecure: true, certPath: 'certs' }, { ...parts, registry: new Registry() });
    expect(said).toEqual([
      [{ certPath: 'certs' }, expect.stringContaining('--cert-path has no effect')],
    ]);
  });

  it('refuses to run without TLS where clients must have certificates', async () => {
    await expect(start({ clientCaFile, insecure: true })).rejects.toThrow(
      /--client-ca-file: cannot be used with --insecure/,
    );
  });
});
