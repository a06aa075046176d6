import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nkeys } from '@nats-io/nats-core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type NatsServer, startNatsServer } from '../../bench/support/nats-server.ts';
import { natsLink } from '../../src/replicas/links/nats/nats-link.ts';
import { nodeClock } from '../../src/runtime/clock/node-clock.ts';
import { type SharedPicker, startPicker } from './pickers.ts';

const until = (check: () => void): Promise<void> =>
  vi.waitFor(check, { timeout: 40_000, interval: 10 });

let folder: string;
let server: NatsServer;
let picker: SharedPicker | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pointsman-creds-'));
});
afterEach(async () => {
  await picker?.stop();
  await server.kill();
  rmSync(folder, { recursive: true });
});

/** A file of credentials. A server whose users have keys does not read the JWT. */
function credentialsOf(user: nkeys.KeyPair): string {
  const part = (name: string, text: string): string =>
    `-----BEGIN ${name}-----\n${text}\n------END ${name}------\n`;
  const seed = new TextDecoder().decode(user.getSeed());
  return part('NATS USER JWT', 'e30.e30.e30') + part('USER NKEY SEED', seed);
}

it('[V463] connects again once it can read the credentials, whose file was away as NATS came back', async () => {
  const user = nkeys.createUser();
  const [config, file] = [join(folder, 'nats.conf'), join(folder, 'user.creds')];
  writeFileSync(config, `authorization { users = [ { nkey: "${user.getPublicKey()}" } ] }`);
  writeFileSync(file, credentialsOf(user));
  server = await startNatsServer(0, ['-c', config]);
  const servers = server.url;
  const openLink = natsLink({ servers, subject: 'p', credentials: () => readFileSync(file) });
  const { replica, notices } = (picker = startPicker('a', {
    clock: nodeClock(),
    openLink,
    boot: 1,
  }));
  await until(() => expect(replica.status().connected).toBe(true));
  await server.kill();
  rmSync(file);
  server = await startNatsServer(server.port, ['-c', config]);
  await until(() => expect(JSON.stringify(notices)).toContain('ENOENT'));
  writeFileSync(file, credentialsOf(user).slice(0, 60));
  await until(() => expect(JSON.stringify(notices)).toContain('unable to parse'));
  writeFileSync(file, credentialsOf(user));
  await until(() => expect(replica.status().connected).toBe(true));
}, 330_000);
