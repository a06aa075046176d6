import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterAll, afterEach, expect, it } from 'vitest';
import { selfSignedCertificate } from '../server/self-signed-certificate.ts';
import { namedAuthorities, trustNamedAuthorities } from './named-authorities.ts';

const folder = mkdtempSync(join(tmpdir(), 'authorities-'));
const before = tls.getCACertificates('default');
const pair = await selfSignedCertificate('localhost');
const pem = pair.cert.toString().trim();
mkdirSync(join(folder, '..data'));
writeFileSync(join(folder, 'tls.crt'), `a comment\n${pem}\n`);
writeFileSync(join(folder, 'again.crt'), pem);
writeFileSync(join(folder, 'tls.key'), pair.key);
writeFileSync(join(folder, 'token'), 'eyJ.a.b');
const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
writeFileSync(join(folder, 'broken.crt'), broken);

afterEach(() => tls.setDefaultCACertificates(before));
afterAll(() => rmSync(folder, { recursive: true }));

it('[D570] authorities are those of the file and of all folders, and what else is there is passed over', () => {
  const named = (SSL_CERT_DIR: string, SSL_CERT_FILE = ''): readonly string[] =>
    namedAuthorities({ SSL_CERT_DIR, SSL_CERT_FILE });
  expect(named(`/none/such:${folder}:/none/other`)).toEqual([pem]);
  expect(named('', join(folder, 'tls.crt'))).toEqual([pem]);
  expect(named('', join(folder, 'none.crt'))).toEqual([]);
  expect(namedAuthorities({})).toEqual([]);
});

it('[D570] a server of an authority in $SSL_CERT_DIR is trusted, and was not before', async () => {
  const server = tls.createServer({ cert: pair.cert, key: pair.key }, (socket) => socket.end());
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const failure = async (): Promise<string | undefined> => {
    const socket = tls.connect({ host: '127.0.0.1', port, servername: 'localhost' });
    const outcome = once(socket, 'secureConnect').then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    return outcome.finally(() => socket.destroy());
  };
  expect(await failure()).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
  trustNamedAuthorities({ SSL_CERT_DIR: folder });
  expect(await failure()).toBeUndefined();
  // The well-known ones are still among them.
  expect(tls.getCACertificates('default').length).toBeGreaterThan(100);
  server.close();
});
