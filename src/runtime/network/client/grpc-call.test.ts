import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { issue, newAuthority } from '../../../../test/support/servers/certificates.ts';
import { startTlsServer } from '../../../../test/support/servers/tls-server.ts';
import { createNodeNetwork } from '../node-network.ts';

const folder = mkdtempSync(join(tmpdir(), 'grpc-call-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('[V491] a file of authorities that is damaged changes nothing for streams to a scheduler, and a new one counts for the next', async () => {
  const [authority, other] = [await newAuthority('ours'), await newAuthority('other')];
  const { cert, key } = await issue(authority, 'scheduler');
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key);
  const server = await startTlsServer({ certPath: folder });
  const caPath = join(folder, 'ca.pem');
  const warnings: string[] = [];
  const network = createNodeNetwork({ warnOfFile: (message) => warnings.push(message) });
  /** What a new stream echoes, or why it has ended. */
  const said = (): Promise<string> =>
    new Promise((resolve) => {
      const call = network.openCall?.({
        address: `127.0.0.1:${server.port}`,
        method: '/t/Echo',
        tls: { caPath },
        messageBytesMax: 100,
        onMessage: (message) => {
          resolve(Buffer.from(message).toString());
          call?.close();
        },
        onClosed: resolve,
      });
      call?.send(Buffer.from('hello'));
    });
  writeFileSync(caPath, authority.cert);
  expect(await said()).toBe('hello');
  writeFileSync(caPath, authority.cert.subarray(0, 100));
  expect([await said(), await said()]).toEqual(['hello', 'hello']);
  expect(warnings).toEqual([expect.stringContaining(`${caPath} has no certificates`)]);
  writeFileSync(caPath, other.cert);
  expect(await said()).not.toBe('hello');
  await network.close();
  await server.stop();
});
