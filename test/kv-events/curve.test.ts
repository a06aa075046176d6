import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { curveKeyPair, Publisher, Router } from 'zeromq';
import { eventually } from '../../bench/support/stack.ts';
import { precisePrefixProducer } from '../../src/endpoints/kv-events/precise-prefix-producer.ts';
import type { MessageSocketOptions } from '../../src/framework/runtime.ts';
import { readCurveKeys } from '../../src/runtime/network/zmq/curve/curve-keys.ts';
import { openZmqSocket } from '../../src/runtime/network/zmq/zmq-socket.ts';
import { KvEventPublisher } from '../../stub-server/kv-events/kv-event-publisher.ts';

/** Real loopback sockets with CURVE. */

const closers: (() => unknown)[] = [];
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pointsman-curve-'));
  closers.push(() => rmSync(folder, { recursive: true }));
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A certificate as pyzmq writes it, and the public key alone. */
function certificate(name: string) {
  const { publicKey, secretKey } = curveKeyPair();
  const certPath = join(folder, `${name}.key_secret`);
  const serverKeyPath = join(folder, `${name}.key`);
  const keys = `curve\n    public-key = "${publicKey}"\n    secret-key = "${secretKey}"\n`;
  writeFileSync(certPath, `#   ****  Generated\nmetadata\n${keys}`);
  writeFileSync(serverKeyPath, publicKey);
  return { publicKey, secretKey, certPath, serverKeyPath };
}

function open(options: Omit<MessageSocketOptions, 'kind' | 'onMessage'>) {
  const received: (readonly Uint8Array[])[] = [];
  const failures: string[] = [];
  const socket = openZmqSocket({
    kind: 'subscriber',
    onMessage: (frames) => received.push(frames),
    onFailed: (reason) => failures.push(reason),
    ...options,
  });
  closers.push(() => socket.close());
  return { received, failures };
}

const texts = (frames: readonly Uint8Array[]): string[] =>
  frames.map((frame) => Buffer.from(frame).toString('latin1'));

describe('CURVE', () => {
  it('[V54] gives the events to subscribers that know the publisher’s key, and to no other', async () => {
    const [server, other, mine] = ['server', 'other', 'mine'].map(certificate);
    if (server === undefined || other === undefined || mine === undefined) throw new Error('keys');
    const publisher = new KvEventPublisher({
      endpoint: 'tcp://127.0.0.1:0',
      bind: true,
      topic: 't',
      format: 'array',
      dataParallelRank: 0,
      wallSeconds: () => 1,
      curve: server,
    });
    await publisher.open();
    closers.push(() => publisher.close());
    const address = publisher.endpoint;
    const bare = open({ address });
    const wrong = open({ address, curve: { serverKeyPath: other.serverKeyPath } });
    const anonymous = open({ address, curve: { serverKeyPath: server.serverKeyPath } });
    const named = open({
      address,
      curve: { serverKeyPath: server.serverKeyPath, certPath: mine.certPath },
    });
    await eventually(
      () => {
        publisher.publish([{ type: 'AllBlocksCleared' }]);
        return Math.min(anonymous.received.length, named.received.length);
      },
      (count) => count > 2,
    );
    expect([bare.received, wrong.received]).toEqual([[], []]);
  });

  it('[V54] lets only publishers that know the picker’s key send to the address it listens at', async () => {
    const server = certificate('picker');
    const address = `ipc://${join(folder, 'events')}`;
    const listening = open({ address, bind: true, curve: { certPath: server.certPath } });
    const pair = curveKeyPair();
    const keys = { curvePublicKey: pair.publicKey, curveSecretKey: pair.secretKey };
    const good = new Publisher({ linger: 0, curveServerKey: server.publicKey, ...keys });
    const bad = new Publisher({ linger: 0 });
    closers.push(() => [good.close(), bad.close()]);
    for (const publisher of [good, bad]) publisher.connect(address);
    await eventually(
      async () => {
        await good.send(['good']);
        await bad.send(['bad']);
        return listening.received.length;
      },
      (count) => count > 2,
    );
    const texts = listening.received.map(([frame]) => Buffer.from(frame ?? '').toString());
    expect(new Set(texts)).toEqual(new Set(['good']));
  });

  it('[V445] reads what libzmq sends, as it was sent, and libzmq reads what we send', async () => {
    const server = certificate('libzmq');
    const keys = { linger: 0, curveServer: true, curveSecretKey: server.secretKey };
    const [publisher, router] = [new Publisher(keys), new Router(keys)];
    closers.push(() => [publisher.close(), router.close()]);
    for (const socket of [publisher, router]) await socket.bind('tcp://127.0.0.1:0');
    const curve = { serverKeyPath: server.serverKeyPath };
    const subscribed = open({ address: publisher.lastEndpoint ?? '', topic: 'kv@', curve });
    const sizes = [0, 1, 220, 221, 222, 255, 256, 65_535, 70_000, 1_000_000];
    const sent = sizes.map((size, at) => [
      Buffer.from('kv@'),
      Buffer.alloc(size, at + 1),
      ...Array<Buffer>(at).fill(Buffer.of(at)),
    ]);
    await eventually(
      async () => {
        await publisher.send(['kv@first']);
        return subscribed.received.length;
      },
      (count) => count > 0,
    );
    for (const frames of sent) await publisher.send([...frames]);
    const whole = (): readonly (readonly Uint8Array[])[] =>
      subscribed.received.filter(({ length }) => length > 1);
    await eventually(whole, ({ length }) => length === sent.length);
    expect(whole().map(texts)).toEqual(sent.map(texts));

    const answers: (readonly Uint8Array[])[] = [];
    const dealer = openZmqSocket({
      kind: 'dealer',
      address: router.lastEndpoint ?? '',
      curve,
      onMessage: (frames) => answers.push(frames),
    });
    closers.push(() => dealer.close());
    dealer.send([Buffer.alloc(0), Buffer.from('ask'), Buffer.alloc(300_000, 7)]);
    const [client, ...asked] = await router.receive();
    expect(texts(asked)).toEqual(['', 'ask', '\u0007'.repeat(300_000)]);
    await router.send([client ?? '', 'answer']);
    await eventually(
      () => answers.length,
      (count) => count === 1,
    );
  });

  it('[V445] has the public key that libzmq has for a secret key', () => {
    for (let count = 0; count < 20; count++) {
      const { certPath, serverKeyPath } = certificate(`pair-${count}`);
      const server = readCurveKeys({ certPath }, 'server');
      const client = readCurveKeys({ serverKeyPath }, 'client');
      expect(client).toMatchObject({ serverKey: Buffer.from(server.pair.publicKey) });
    }
  });

  it('[V447] cuts off a publisher with the right key whose message does not end', async () => {
    const server = certificate('hostile');
    const keys = { curveServer: true, curveSecretKey: server.secretKey };
    const publisher = new Publisher({ linger: 0, ...keys });
    closers.push(() => publisher.close());
    await publisher.bind('tcp://127.0.0.1:0');
    const address = publisher.lastEndpoint ?? '';
    const { failures } = open({ address, curve: { serverKeyPath: server.serverKeyPath } });
    await eventually(
      async () => {
        await publisher.send(Array<string>(17).fill('part'));
        return failures.length;
      },
      (count) => count > 0,
    );
    expect(failures[0]).toContain('a message has more than 16 frames');
  });

  it('[V446] says that a publisher has another key', async () => {
    const [server, other] = [certificate('server'), certificate('other')];
    const keys = { curveServer: true, curveSecretKey: server.secretKey };
    const publisher = new Publisher({ linger: 0, ...keys });
    closers.push(() => publisher.close());
    await publisher.bind('tcp://127.0.0.1:0');
    const address = publisher.lastEndpoint ?? '';
    const { failures } = open({ address, curve: { serverKeyPath: other.serverKeyPath } });
    await eventually(
      () => failures.length,
      (count) => count > 0,
    );
    expect(failures[0]).toContain('within the CURVE handshake: are the keys right?');
  });

  it('[V54] says which file has no key', async () => {
    const certPath = join(folder, 'empty.key_secret');
    writeFileSync(certPath, 'metadata\n');
    const { failures } = open({ address: 'tcp://127.0.0.1:0', bind: true, curve: { certPath } });
    await eventually(
      () => failures.length,
      (count) => count > 0,
    );
    expect(failures[0]).toContain(`${certPath} has no secret-key`);
  });

  it('[V54] asks for the keys that its sockets need', () => {
    const parse = (kvEventsConfig: object): unknown =>
      precisePrefixProducer.config.parse({ kvEventsConfig });
    expect(() => parse({ curve: { certPath: 'a' } })).toThrow('serverKeyPath');
    expect(() => parse({ zmqEndpoint: 'tcp://*:1', curve: { serverKeyPath: 'a' } })).toThrow(
      'certPath',
    );
    const bound = { zmqEndpoint: 'tcp://*:1', discoverPods: false, curve: { certPath: 'a' } };
    expect(() => parse(bound)).not.toThrow();
  });
});
