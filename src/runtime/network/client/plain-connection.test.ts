import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createNodeNetwork, type NodeNetwork } from '../node-network.ts';

const OPTIONS = { timeoutMs: 60_000, bodyBytesMax: 1024 * 1024 };
const LENGTH_5 = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A server that treats the requests of all connections in turn. */
async function serve(treat: (socket: Socket, request: number) => void) {
  let requests = 0;
  let connections = 0;
  const open = new Set<Socket>();
  const server: Server = createServer((socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => open.delete(socket));
    socket.on('data', () => {
      if (!socket.writableEnded) treat(socket, requests++);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closers.push(() => {
    for (const socket of open) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const network = createNodeNetwork();
  closers.push(() => network.close());
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`);
  return { network, url, seen: () => ({ requests, connections }) };
}

async function text(network: NodeNetwork, url: URL): Promise<string> {
  const { status, body } = await network.get(url, OPTIONS);
  return `${status} ${Buffer.from(body).toString()}`;
}

test('[B222] answers that arrive together are each given as they came', async () => {
  const servers = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const body = String(index).repeat(20_000 + index);
      const head = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`;
      return { body, ...(await serve((socket) => socket.write(head + body))) };
    }),
  );
  const network = createNodeNetwork();
  closers.push(() => network.close());
  for (let round = 0; round < 5; round++) {
    const texts = await Promise.all(servers.map(({ url }) => text(network, url)));
    expect(texts).toEqual(servers.map(({ body }) => `200 ${body}`));
  }
});

test('[B223] each answer is read by its own head, also where it differs by one byte', async () => {
  const answers = [
    `${LENGTH_5}first`,
    `${LENGTH_5}again`,
    'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nlonger',
    'HTTP/1.1 503 No\r\ncontent-length: 4\r\n\r\nbusy',
    `${LENGTH_5}after`,
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx: y\r\n\r\nother',
  ];
  const { network, url, seen } = await serve((socket, request) => {
    socket.write(answers[request] ?? '');
  });
  const read: string[] = [];
  for (const _ of answers) read.push(await text(network, url));
  expect(read).toEqual([
    '200 first',
    '200 again',
    '200 longer',
    '503 busy',
    '200 after',
    '200 other',
  ]);
  expect(seen()).toEqual({ requests: 6, connections: 1 });
});

test('[D221] an answer that is not plain is asked for again, and later ones only once', async () => {
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
  const { network, url, seen } = await serve((socket) => socket.write(chunked));
  expect(await text(network, url)).toBe('200 hello');
  expect(seen()).toEqual({ requests: 2, connections: 2 });
  for (let n = 0; n < 3; n++) expect(await text(network, url)).toBe('200 hello');
  expect(seen()).toEqual({ requests: 5, connections: 2 });
});

test('[D220] a plain answer may come in any pieces after its head', async () => {
  const page = 'x'.repeat(200_000);
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${page.length}\r\n\r\n`;
  const { network, url, seen } = await serve((socket) => {
    socket.write(`${head}xx`);
    setImmediate(() => socket.write(page.slice(2)));
  });
  for (let n = 0; n < 3; n++) expect(await text(network, url)).toBe(`200 ${page}`);
  expect(seen()).toEqual({ requests: 3, connections: 1 });
});

test('[D221] a connection that the server ends, or says too much on, is not used again', async () => {
  const treat = [
    (socket: Socket) => socket.end(`${LENGTH_5}first`),
    (socket: Socket) => socket.write(`${LENGTH_5}after${LENGTH_5}bogus`),
    (socket: Socket) => socket.write(`${LENGTH_5}third`),
  ];
  const { network, url, seen } = await serve((socket, request) => treat[request]?.(socket));
  expect(await text(network, url)).toBe('200 first');
  expect(await text(network, url)).toBe('200 after');
  expect(await text(network, url)).toBe('200 third');
  expect(seen()).toEqual({ requests: 3, connections: 3 });
});

test('[D221] a second request at the same time does not wait for the first', async () => {
  const waiting: Socket[] = [];
  const { network, url } = await serve((socket, request) => {
    if (request === 0) waiting.push(socket);
    else socket.write(`${LENGTH_5}later`);
  });
  const first = text(network, url);
  const second = text(network, url);
  await expect.poll(() => waiting.length, { timeout: 60_000 }).toBe(1);
  const [answered] = await Promise.all([
    second,
    second.then(() => waiting[0]?.write(`${LENGTH_5}first`)),
  ]);
  expect([await first, answered]).toEqual(['200 first', '200 later']);
});

/**
 * The answer of a server that writes it and then blocks the process; undefined where the request
 * came too late.
 */
async function readAfterStandstill(host: string, timeoutMs: number): Promise<string | undefined> {
  let deadline = 0;
  let isInTime = false;
  const { network, url } = await serve((socket) => {
    isInTime = performance.now() < deadline;
    socket.write(`${LENGTH_5}whole`);
    while (performance.now() < deadline + 10);
  });
  const asked = new URL(url.href.replace('127.0.0.1', host));
  deadline = performance.now() + timeoutMs;
  const answer = await network.get(asked, { ...OPTIONS, timeoutMs }).then(
    ({ body }) => Buffer.from(body).toString(),
    (error: unknown) => String(error),
  );
  return isInTime ? answer : undefined;
}

test.each(['127.0.0.1', 'localhost'])(
  '[V372] an answer that came while the process stood still is read, from %s',
  async (host) => {
    let answer: string | undefined;
    // On a busy machine the request may come after its deadline: then it is made again with more
    // time.
    for (let timeoutMs = 30; answer === undefined; timeoutMs *= 2) {
      answer = await readAfterStandstill(host, timeoutMs);
    }
    expect(answer).toBe('whole');
  },
);
