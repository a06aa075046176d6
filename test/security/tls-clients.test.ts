import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import type { TlsOptions } from '../../src/serve/tls/start-tls.ts';
import { shake, startTlsServer, type TlsServer } from '../support/servers/tls-server.ts';

/** TLS of the ext_proc port as clients see it: versions, cipher suites, and faults of clients. */

const OPENSSL = '/usr/bin/openssl';
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(options: Partial<TlsOptions>): Promise<TlsServer> {
  const server = await startTlsServer(options);
  stops.push(() => server.stop());
  return server;
}

describe('versions and cipher suites', () => {
  const anyCertificate = { rejectUnauthorized: false };

  it('[V27] accepts TLS 1.2 and 1.3, and no older version', async () => {
    const { port, lines } = await start({});
    const at = (version: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'): Promise<string> =>
      shake(port, {
        ...anyCertificate,
        minVersion: version,
        maxVersion: version,
        ...(version === 'TLSv1.1' && { ciphers: 'ALL@SECLEVEL=0' }),
      });
    expect(await at('TLSv1.2')).toMatch(/^pointsman TLSv1\.2/);
    expect(await at('TLSv1.3')).toMatch(/^pointsman TLSv1\.3/);
    expect(await at('TLSv1.1')).toMatch(/PROTOCOL_VERSION/);
    expect(lines.at(-1)).toMatchObject({
      message: 'a TLS handshake with a client failed',
      fields: { code: 'ERR_SSL_UNSUPPORTED_PROTOCOL' },
    });
  });

  it.each(['1.3', 'VersionTLS13'])('[V27] accepts only TLS 1.3 with %s', async (tlsMinVersion) => {
    const { port } = await start({ tlsMinVersion });
    expect(await shake(port, { ...anyCertificate, maxVersion: 'TLSv1.2' })).toMatch(
      /PROTOCOL_VERSION/,
    );
    expect(await shake(port, anyCertificate)).toBe('pointsman');
  });

  it('[V27] offers only the cipher suites given, of TLS 1.2 without touching TLS 1.3', async () => {
    const suite = 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384';
    const { port } = await start({ tlsCipherSuites: suite });
    const old = { ...anyCertificate, maxVersion: 'TLSv1.2' } as const;
    expect(await shake(port, old)).toBe(`pointsman TLSv1.2 ${suite}`);
    expect(await shake(port, { ...old, ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' })).toMatch(
      /HANDSHAKE_FAILURE/,
    );
    expect(await shake(port, { ...anyCertificate, minVersion: 'TLSv1.3' })).toMatch(/TLSv1\.3/);
  });

  it('[V27] offers only the given suites of TLS 1.3 where some are given', async () => {
    const suite = 'TLS_CHACHA20_POLY1305_SHA256';
    const { port } = await start({ tlsCipherSuites: suite });
    expect(await shake(port, { ...anyCertificate, minVersion: 'TLSv1.3' })).toMatch(suite);
    expect(await shake(port, { ...anyCertificate, maxVersion: 'TLSv1.2' })).toMatch(/ERR_SSL/);
  });

  it('[V27] offers no suite that HTTP/2 does not allow, also where the list names only such ones', async () => {
    const { port } = await start({ tlsCipherSuites: 'TLS_RSA_WITH_RC4_128_SHA' });
    expect(await shake(port, { ...anyCertificate, maxVersion: 'TLSv1.2' })).toMatch(/ERR_SSL/);
    expect(await shake(port, { ...anyCertificate, minVersion: 'TLSv1.3' })).toMatch(/TLSv1\.3/);
  });

  it.each([
    [{ tlsMinVersion: '1.1' }, /--tls-min-version: is 1\.1: it must be one of 1\.2, 1\.3, Version/],
    [{ tlsCipherSuites: 'TLS_RSA_WITH_NULL_SHA' }, /has TLS_RSA_WITH_NULL_SHA: .*TLS_ECDHE_/],
  ])('refuses %j, and says what there is', async (options, said) => {
    await expect(start(options)).rejects.toThrow(said);
  });
});

describe('TLS where none is expected, or none comes', () => {
  it('[V28] says in one line what to change where a client does not use TLS', async () => {
    const { port, lines, metric } = await start({});
    for (let i = 0; i < 20; i++) {
      const session = connectHttp2(`http://127.0.0.1:${port}`);
      await new Promise((resolve) => session.on('error', resolve).on('close', resolve));
    }
    const tcp = connect(port, '127.0.0.1', () => tcp.write('GET / HTTP/1.1\r\n\r\n'));
    tcp.on('error', () => undefined);
    await eventually(
      () => metric('pointsman_client_faults_total plaintext-to-tls'),
      (count) => count === 21,
    );
    expect(lines).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(/does not use TLS .* transport_socket .* --insecure/),
        fields: { code: 'ERR_SSL_WRONG_VERSION_NUMBER', from: '127.0.0.1' },
      },
    ]);
  });

  it('[V28] says in one line what to change where a client uses TLS and the picker does not', async () => {
    const { port, lines, metric } = await start({ insecure: true });
    for (let i = 0; i < 20; i++) await shake(port);
    await eventually(
      () => metric('pointsman_client_faults_total no-plaintext-http2'),
      (count) => count === 20,
    );
    expect(lines).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          /with TLS, remove it, or start the picker without --insecure/,
        ),
        fields: { code: 'PROTOCOL_ERROR', from: '127.0.0.1' },
      },
    ]);
  });

  it.skipIf(!existsSync(OPENSSL))(
    '[V28] says in one line what to change where a client does not accept the certificate',
    async () => {
      const { port, lines } = await start({});
      const args = [
        's_client',
        '-connect',
        `127.0.0.1:${port}`,
        '-verify_return_error',
        '-alpn',
        'h2',
      ];
      await new Promise((resolve) => execFile(OPENSSL, args, resolve).stdin?.end());
      await eventually(
        () => lines,
        (all) => all.length === 1,
      );
      expect(lines[0]?.message).toMatch(/does not accept the picker’s certificate.*--cert-path/);
    },
  );

  it('says nothing of a probe that only connects', async () => {
    const { port, lines } = await start({});
    const tcp = connect(port, '127.0.0.1', () => tcp.end());
    await new Promise((resolve) => tcp.on('close', resolve));
    expect(await shake(port, { rejectUnauthorized: false })).toBe('pointsman');
    expect(lines).toEqual([]);
  });
});
