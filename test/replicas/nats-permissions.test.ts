import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type NatsServer, startNatsServer } from '../../bench/support/nats-server.ts';
import type { ReplicaLink } from '../../src/replicas/links/link.ts';
import { natsLink } from '../../src/replicas/links/nats/nats-link.ts';

const until = (check: () => void): Promise<void> =>
  vi.waitFor(check, { timeout: 40_000, interval: 10 });

let folder: string;
let server: NatsServer;
let links: ReplicaLink[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pointsman-rights-'));
  links = [];
});
afterEach(async () => {
  await Promise.all(links.map((link) => link.close()));
  await server.kill();
  rmSync(folder, { recursive: true });
});

/** The only user may do this; a server that runs is to read it with `reload`. */
function permit(permissions: string): readonly string[] {
  const file = join(folder, 'nats.conf');
  const user = `{ user: u, password: p, permissions: ${permissions} }`;
  writeFileSync(file, `no_auth_user: u\nauthorization: { users: [${user}] }`);
  return ['-c', file, '-P', join(folder, 'pid')];
}

function reload(): void {
  process.kill(Number(readFileSync(join(folder, 'pid'), 'utf8')), 'SIGHUP');
}

function open(id: string) {
  const [received, refused]: [Set<string>, string[]] = [new Set(), []];
  let connections = 0;
  const link = natsLink({ servers: server.url, subject: 'x' })(id, {
    onMessage: (message) => void received.add(Buffer.from(message).toString()),
    onForged: () => undefined,
    onConnected: () => {
      connections += 1;
    },
    onDisconnected: () => undefined,
    onRefused: (reason) => void refused.push(reason),
  });
  links.push(link);
  return { link, received, refused, connections: () => connections };
}

it('[V555] receives what others send once NATS permits it, over the connection that it has', async () => {
  server = await startNatsServer(0, permit('{ publish: "x.>", subscribe: "other" }'));
  const [barred, other] = [open('barred'), open('other')];
  await until(() => expect(barred.refused.join()).toContain('Subscription to "x.to.barred"'));
  await until(() => expect(other.link.send(Buffer.from('before'))).toBe(true));
  permit('{ publish: "x.>", subscribe: "x.>" }');
  reload();
  await until(() => {
    other.link.send(Buffer.from('to all'));
    other.link.send(Buffer.from('to it'), 'barred');
    expect([...barred.received].toSorted()).toEqual(['to all', 'to it']);
  });
  expect(barred.connections()).toBe(1);
}, 100_000);
