import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { newAuthority } from '../../../../test/support/servers/certificates.ts';
import { readCurveKeys } from '../zmq/curve/curve-keys.ts';
import { GrpcCall } from './grpc-call.ts';
import { httpConnector } from './http-connector.ts';
import { OutgoingFiles } from './outgoing-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'outgoing-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(process.platform === 'win32')('a pipe in the place of a file', () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const why = `${pipe} is not a file`;

  it('[V267] of authorities, a certificate or a key refuses an HTTPS connection at once', () => {
    const given = [{ caPath: pipe }, { certPath: pipe }, { keyPath: pipe }];
    const failures = given.map((tls) => {
      let failure: string | undefined;
      const to = { hostname: 'a', protocol: 'https:', port: '1' };
      httpConnector(tls, new OutgoingFiles())(to, (...[error]) => {
        failure = error?.message;
      });
      return failure;
    });
    expect(failures).toEqual(given.map(() => why));
  });

  it('[V267] of authorities ends the stream to a scheduler at once', async () => {
    const reason = await new Promise((onClosed) => {
      const address = '127.0.0.1:1';
      const tls = { caPath: pipe };
      const options = { address, method: '/a/B', messageBytesMax: 1, onMessage: () => undefined };
      new GrpcCall({ ...options, tls, onClosed });
    });
    expect(reason).toBe(why);
  });

  it('[V267] of CURVE keys refuses the socket at once', () => {
    for (const files of [{ certPath: pipe }, { serverKeyPath: pipe }]) {
      const side = files.certPath === undefined ? 'client' : 'server';
      expect(() => readCurveKeys(files, side)).toThrow(why);
    }
  });
});

it('[V566] says which files are refused, since when and why, until they are good again', async () => {
  const good = String((await newAuthority('a')).cert);
  const caPath = join(folder, 'ca.pem');
  let now = 1000;
  const files = new OutgoingFiles({ warn: () => undefined, wallTime: () => now });
  const write = (text: string): void => {
    writeFileSync(caPath, text);
    files.read({ caPath });
  };
  write(good);
  expect(files.refused()).toEqual([]);
  write(good.slice(0, 100));
  now = 2000;
  write('nothing');
  const reason = expect.stringContaining('has no certificates');
  expect(files.refused()).toEqual([{ paths: [caPath], reason, sinceMs: 1000 }]);
  expect(files.counts).toEqual({ adopted: 0, refused: 1 });
  // No connection reads it meanwhile.
  writeFileSync(caPath, `${good}\n`);
  expect(files.refused()).toEqual([]);
  expect(files.counts).toEqual({ adopted: 1, refused: 1 });
});

it('[V599] says so of files that a connection of another thread has used, too', async () => {
  const good = String((await newAuthority('a')).cert);
  const caPath = join(folder, 'elsewhere.pem');
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const files = new OutgoingFiles({ warn, wallTime: () => 1000 });
  writeFileSync(caPath, 'nothing');
  for (let n = 0; n < 2; n++) files.refusedElsewhere({ caPath });
  const reason = expect.stringContaining('has no certificates');
  expect(files.refused()).toEqual([{ paths: [caPath], reason, sinceMs: 1000 }]);
  expect([warnings, files.counts]).toEqual([[reason], { adopted: 0, refused: 1 }]);
  writeFileSync(caPath, good);
  expect([files.refused(), files.counts]).toEqual([[], { adopted: 1, refused: 1 }]);
});
