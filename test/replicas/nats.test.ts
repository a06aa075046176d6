import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type NatsServer, startNatsServer } from '../../bench/support/nats-server.ts';
import type { ReplicaLink } from '../../src/replicas/links/link.ts';
import { natsLink } from '../../src/replicas/links/nats/nats-link.ts';
import { GONE_MS } from '../../src/replicas/peers/peers.ts';
import { nodeClock } from '../../src/runtime/clock/node-clock.ts';
import { issue, newAuthority } from '../support/servers/certificates.ts';
import { type CuttableProxy, startCuttableProxy } from '../support/servers/cuttable-proxy.ts';
import { blocksOf, type SharedPicker, startPicker } from './pickers.ts';

const clock = nodeClock();
const SUBJECT = 'pointsman.test';
const key = (text: string): Uint8Array => new TextEncoder().encode(text.padEnd(16, '.'));

let server: NatsServer;
let boots = 0;
const started: SharedPicker[] = [];

beforeAll(async () => {
  server = await startNatsServer();
}, 330_000);

afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.stop()));
});

afterAll(() => server.kill());

interface StartOptions {
  readonly url?: string;
  readonly subject?: string;
  readonly keyText?: string;
}

function start(
  id: string,
  { url = server.url, subject = SUBJECT, keyText }: StartOptions = {},
): SharedPicker {
  const openLink = natsLink({ servers: url, subject, key: keyText ? key(keyText) : undefined });
  const picker = startPicker(id, { clock, openLink, boot: ++boots });
  started.push(picker);
  return picker;
}

const peersOf = ({ replica }: SharedPicker): number => replica.status().peers.length;
const total = (picker: SharedPicker): number => picker.loads().reduce((sum, load) => sum + load, 0);
const until = (check: () => void, timeout = 20_000): Promise<void> =>
  vi.waitFor(check, { timeout, interval: 10 });

async function startAll(count: number, options: StartOptions = {}): Promise<SharedPicker[]> {
  const pickers = Array.from({ length: count }, (_, index) => start(`p${index}`, options));
  await until(() => {
    for (const each of pickers) expect(peersOf(each)).toBe(count - 1);
  });
  return pickers;
}

describe('replicas over a real NATS server', () => {
  it.each([2, 4])(
    '[O152] %i pickers see the load of all',
    async (count) => {
      const pickers = await startAll(count, { subject: `pointsman.load${count}` });
      const routed = pickers.flatMap((each, n) => [
        each.route(blocksOf(20, 100 * n)),
        each.route(blocksOf(20, 5000 + 100 * n)),
      ]);
      await until(() => {
        for (const each of pickers) expect(total(each)).toBe(2 * count);
      });
      for (const each of routed) each.done('completed');
      await until(() => {
        for (const each of pickers) expect(total(each)).toBe(0);
      });
    },
    60_000,
  );

  it('[O153] a picker that is killed and started again has its prompts back within seconds', async () => {
    const subject = 'pointsman.warm';
    const proxy = await startCuttableProxy(server.port);
    const first = start('p0', { subject });
    const killed = start('p1', { subject, url: `nats://127.0.0.1:${proxy.port}` });
    await until(() => expect([peersOf(first), peersOf(killed)]).toEqual([1, 1]));
    const homes = blocksOf(60).map((n) => {
      const routed = first.route(blocksOf(40, 1000 * n));
      routed.done('completed');
      return routed.endpoint.id;
    });
    // Its connection ends without a goodbye, as that of a process that is killed.
    killed.route();
    await until(() => expect(total(first)).toBe(1));
    await proxy.stop();
    const again = start('p1', { subject });
    await until(() => expect(again.replica.status().received.prefixBlocks).toBe(60 * 40), 10_000);
    const found = homes.filter((home, n) => {
      const routed = again.route(blocksOf(40, 1000 * n));
      routed.done('completed');
      return routed.endpoint.id === home;
    });
    expect(found.length).toBeGreaterThanOrEqual(54);
    await until(() => expect(total(first)).toBe(0));
  });

  it('[V291] receives nothing while it has left the subject, and again when it is back', async () => {
    const subject = 'pointsman.pause';
    const events = { onForged: () => undefined, onDisconnected: () => undefined };
    let connected = 0;
    const received: string[] = [];
    const open = natsLink({ servers: server.url, subject });
    const onConnected = (): void => void (connected += 1);
    const onMessage = (data: Uint8Array): void =>
      void received.push(new TextDecoder().decode(data));
    const paused = open('a', { ...events, onConnected, onMessage });
    const other = open('b', { ...events, onConnected, onMessage: () => undefined });
    await until(() => expect(connected).toBe(2));
    paused.pause();
    expect(paused.send(key('x'))).toBe(false);
    await until(() => expect(other.send(key('while it is away'))).toBe(true));
    paused.resume();
    await until(() => expect(connected).toBe(3));
    // The subscription may still be on its way to NATS, and a message on another connection may
    // overtake it.
    await until(() => {
      other.send(key('when it is back.'));
      expect(received).toContain('when it is back.');
    });
    expect(received).not.toContain('while it is away');
    await Promise.all([paused.close(), other.close()]);
  });

  it('[V348] says why messages do not pass a server that takes small ones only, or forbids the subject', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-nats-'));
    const config = join(folder, 'nats.conf');
    const none = '{ publish: { deny: ">" }, subscribe: { deny: ">" } }';
    writeFileSync(
      config,
      `max_payload: 65536
no_auth_user: u
authorization: { users: [{ user: u, password: p, permissions: ${none} }] }`,
    );
    const own = await startNatsServer(0, ['-c', config]);
    const reasons: string[] = [];
    const link = natsLink({ servers: own.url, subject: 'pointsman.no' })('a', {
      onMessage: () => undefined,
      onForged: () => undefined,
      onConnected: () => void link.send(key('x')),
      onDisconnected: () => undefined,
      onRefused: (reason) => void reasons.push(reason),
    });
    await until(() => expect(reasons.length).toBeGreaterThanOrEqual(3));
    const all = reasons.join('\n');
    expect(all).toContain('NATS takes messages of 65536 bytes, and replicas send up to');
    expect(all).toContain('give the user of the replicas the right to publish and subscribe to');
    await link.close();
    await own.kill();
    rmSync(folder, { recursive: true });
  });

  it('[V414] shares by TLS with the server that its certificate names, and with no other', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-nats-'));
    const [authority, other] = await Promise.all([newAuthority('a'), newAuthority('b')]);
    const { cert, key: certKey } = await issue(authority, 'nats.test');
    const file = (name: string, bytes: Uint8Array): string => {
      writeFileSync(join(folder, name), bytes);
      return join(folder, name);
    };
    const files = [`--tlscert=${file('c', cert)}`, `--tlskey=${file('k', certKey)}`];
    const own = await startNatsServer(0, ['--tls', ...files]);
    const states: string[] = [];
    const openWith = (host: string, ca: Uint8Array): ReplicaLink =>
      natsLink({ servers: `tls://${host}:${own.port}`, subject: 'x', tls: { ca: () => ca } })('a', {
        onMessage: () => undefined,
        onForged: () => undefined,
        onConnected: () => void states.push('connected'),
        onDisconnected: (reason) => void states.push(reason),
      });
    const opened: ReplicaLink[] = [];
    for (const [host, ca, state] of [
      ['127.0.0.1', authority.cert, /^connected$/],
      ['127.0.0.1', other.cert, /^TLS: .*certificate/],
      // The certificate names the address and nats.test.
      ['localhost', authority.cert, /^TLS: .*not in the cert/],
    ] as const) {
      opened.push(openWith(host, ca));
      await until(() => expect(states.splice(0).join()).toMatch(state));
    }
    await Promise.all(opened.map((each) => each.close()));
    await own.kill();
    rmSync(folder, { recursive: true });
  });

  it('[O154] goes on without NATS, and shares again when it is back', async () => {
    const own = await startNatsServer();
    const pickers = await startAll(2, { url: own.url });
    const [a, b] = pickers as [SharedPicker, SharedPicker];
    const open = [a.route(), b.route()];
    await until(() => expect([total(a), total(b)]).toEqual([2, 2]));
    await own.kill();
    await until(() => expect(a.replica.status().connected).toBe(false));
    // [O437] `/readyz` says it.
    expect(a.replica.trouble).toMatch(/^no connection to NATS: /);
    for (let n = 0; n < 500; n++) a.route(blocksOf(5, n)).done('completed');
    await until(() => expect([total(a), total(b)]).toEqual([1, 1]), GONE_MS + 10_000);
    const back = await startNatsServer(own.port);
    try {
      await until(() => expect([total(a), total(b)]).toEqual([2, 2]));
      for (const each of open) each.done('completed');
      await until(() => expect([total(a), total(b)]).toEqual([0, 0]));
      expect(a.replica.trouble).toBeUndefined();
      const kinds = a.notices.map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === 'disconnected')).toHaveLength(1);
    } finally {
      await back.kill();
    }
  });

  it('[O162] says once that NATS has never been reached, and shares once it is there', async () => {
    const gone = await startNatsServer();
    await gone.kill();
    const picker = start('p0', { url: gone.url });
    await until(() => expect(picker.notices).toHaveLength(1));
    expect(picker.notices).toEqual([{ kind: 'disconnected', reason: expect.any(String) }]);
    const back = await startNatsServer(gone.port);
    try {
      await until(() => expect(picker.replica.status().connected).toBe(true));
      expect(picker.notices.map(({ kind }) => kind)).toEqual(['disconnected', 'connected']);
    } finally {
      await back.kill();
    }
  });

  it('[O154] finds a connection that falls silent, and mends what was lost', async () => {
    const proxy: CuttableProxy = await startCuttableProxy(server.port);
    try {
      const subject = 'pointsman.silent';
      const a = start('p0', { subject });
      const b = start('p1', { subject, url: `nats://127.0.0.1:${proxy.port}` });
      await until(() => expect([peersOf(a), peersOf(b)]).toEqual([1, 1]));
      proxy.silence();
      const open = [a.route(), b.route(), b.route()];
      await until(() => expect(total(a)).toBe(1));
      await until(() => expect([total(a), total(b)]).toEqual([3, 3]), 40_000);
      for (const each of open) each.done('completed');
      await until(() => expect([total(a), total(b)]).toEqual([0, 0]));
    } finally {
      await Promise.all(started.splice(0).map((each) => each.stop()));
      await proxy.stop();
    }
  });

  it('[O155] takes only messages that are marked with its key', async () => {
    const subject = 'pointsman.key';
    const a = start('p0', { subject, keyText: 'right' });
    const b = start('p1', { subject, keyText: 'right' });
    await until(() => expect([peersOf(a), peersOf(b)]).toEqual([1, 1]));
    const other = start('p2', { subject, keyText: 'wrong' });
    const without = start('p3', { subject });
    for (const each of [other, without]) each.route();
    await until(() => expect(a.replica.status().received.forged).toBeGreaterThan(3));
    expect([peersOf(a), peersOf(b)]).toEqual([1, 1]);
    expect([total(a), total(b)]).toEqual([0, 0]);
  });
});
