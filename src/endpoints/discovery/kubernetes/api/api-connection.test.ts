import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { openAccess } from '../../../../../test/support/kubernetes/open-access.ts';
import { kubernetesReview } from '../../../../serve/admin/kubernetes-review.ts';
import { KubeLease } from '../../../../serve/election/kube-lease.ts';
import type { ApiAccess } from './api-access.ts';
import { connectApi } from './api-connection.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function answering(listener: RequestListener, token = 'secret'): Promise<ApiAccess> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return openAccess(`http://127.0.0.1:${port}`, token);
}

/** 64 KiB again and again, as long as somebody takes them. */
const endless: RequestListener = (_, response) => {
  const write = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x'))) continue;
  };
  response.on('drain', write).on('error', () => undefined);
  write();
};

const LEASE = { namespace: 'n', name: 'l' };
const answeringJson = (answer: object): Promise<ApiAccess> =>
  answering((_, response) => void response.end(JSON.stringify(answer)));

/** Writes bytes of its own in place of an answer. */
const writing =
  (text: string): RequestListener =>
  (_, { socket }) =>
    void socket?.on('error', () => undefined).write(text);
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

describe('what an API server answers', () => {
  it('[V458] in chunks of a byte each is not read on', async () => {
    const access = await answering(writing(`${CHUNKED}${'1\r\nx\r\n'.repeat(20_000)}`));
    const api = await connectApi(access);
    const limits = { bytesMax: 1024 * 1024, timeoutMs: 10_000 };
    await expect(api.text({ path: '/' }, limits)).rejects.toThrow('an answer in 10');
    const watch = async (): Promise<void> => {
      for await (const _ of await api.open({ path: '/' })) continue;
    };
    await expect(watch()).rejects.toThrow('an answer in 10');
    api.close();
  });

  it('[V458] by interim answers without end is not waited for', async () => {
    const api = await connectApi(
      await answering(writing('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(17))),
    );
    await expect(api.open({ path: '/' })).rejects.toThrow('more than 16 interim answers');
    api.close();
  });

  it('[V470] is read 16 KiB at once, so that headers without end cost no more than those', async () => {
    const flood = `HTTP/1.1 200 OK\r\n${'a:\r\n'.repeat(1_000_000)}`;
    const api = await connectApi(await answering(writing(flood)));
    const pieces: number[] = [];
    const record = (message: unknown): void => {
      const { socket } = message as { readonly socket: Socket };
      const read = socket.read.bind(socket);
      socket.read = (size?: number): unknown => {
        const piece: unknown = read(size);
        if (piece instanceof Uint8Array) pieces.push(piece.length);
        return piece;
      };
    };
    // After the picker's own: it sees what that lets pass.
    subscribe('undici:client:connected', record);
    await expect(api.open({ path: '/' })).rejects.toThrow('Headers Overflow');
    unsubscribe('undici:client:connected', record);
    expect(Math.max(...pieces)).toBeLessThanOrEqual(16 * 1024);
    // The client counts the names alone, and refuses more than 16 KiB of these.
    expect(pieces.reduce((sum, piece) => sum + piece, 0)).toBeLessThanOrEqual(128 * 1024);
    api.close();
  });

  it('[V340] is read up to a bound', async () => {
    const api = await connectApi(await answering(endless));
    const limits = { bytesMax: 1024 * 1024, timeoutMs: 10_000 };
    await expect(api.text({ path: '/' }, limits)).rejects.toThrow('more than 1048576 bytes');
    api.close();
  });

  it('[V340] is read for so long only', async () => {
    const api = await connectApi(await answering((_, response) => void response.write(' ')));
    const limits = { bytesMax: 1024, timeoutMs: 20 };
    await expect(api.text({ path: '/' }, limits)).rejects.toThrow('timeout');
    api.close();
  });

  it('[V554] is in time where it came while this process stood still', async () => {
    // Where this thread waits, it cannot answer.
    const program = `const server = require('node:http').createServer((_, response) => response.end('{}'));
      server.listen(0, '127.0.0.1', () => require('node:worker_threads').parentPort.postMessage(server.address().port));`;
    const thread = new Worker(program, { eval: true });
    const [port] = (await once(thread, 'message')) as [number];
    const api = await connectApi(openAccess(`http://127.0.0.1:${port}`, 'secret'));
    const limits = { bytesMax: 1024, timeoutMs: 2000 };
    expect(await api.text({ path: '/' }, limits)).toBe('{}');
    const answer = api.text({ path: '/' }, limits);
    // The question has left by then.
    await turn();
    await turn();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
    expect(await answer).toBe('{}');
    api.close();
    await thread.terminate();
  });

  it('[V340] leads to no other server, which would get the token', async () => {
    const asked: (string | undefined)[] = [];
    const access = await answering((request, response) => {
      asked.push(request.url);
      response.writeHead(307, { location: '/other' }).end();
    });
    const api = await connectApi(access);
    const limits = { bytesMax: 1024, timeoutMs: 10_000 };
    await expect(api.text({ path: '/one' }, limits)).rejects.toThrow('status 307');
    expect(asked).toEqual(['/one']);
    api.close();
  });

  it('[V347] about a Lease or a token is bounded, and an error where it is longer', async () => {
    const access = await answering(endless);
    await expect(new KubeLease(access, LEASE).read()).rejects.toThrow(
      'cannot read lease l in namespace n: an answer of more than 1048576 bytes',
    );
    await expect(kubernetesReview(access)('t')).rejects.toThrow(
      'cannot create tokenreviews.authentication.k8s.io: an answer of more than 1048576 bytes',
    );
  });

  it.each(['null', '{"status":7}', '{"status":{"authenticated":true,"user":{"username":{}}}}'])(
    '[V347] about a token refuses its bearer where it is %s',
    async (text) => {
      const access = await answering((_, response) => void response.end(text));
      const { refusal } = await kubernetesReview(access)('t');
      expect(refusal?.status).toBe(401);
    },
  );

  it('[V347] is a Lease that can be taken where its fields are garbage', async () => {
    const spec = {
      holderIdentity: 7,
      leaseDurationSeconds: 'x',
      acquireTime: {},
      leaseTransitions: [],
    };
    const access = await answeringJson({ metadata: { resourceVersion: '3' }, spec });
    expect(await new KubeLease(access, LEASE).read()).toEqual({
      version: '3',
      holder: '',
      durationSeconds: 0,
      acquiredAtMs: undefined,
      transitions: 0,
    });
  });
});

it('[V466] a token whose file ends with a line is sent without it', async () => {
  const access = await answering(({ headers }, response) => {
    response.end(headers.authorization);
  }, 'secret\n');
  const api = await connectApi(access);
  const limits = { bytesMax: 1024, timeoutMs: 10_000 };
  expect(await api.text({ path: '/' }, limits)).toBe('Bearer secret');
  api.close();
});
