import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createNodeNetwork, type NodeNetwork } from './node-network.ts';

const OPTIONS = { timeoutMs: 60_000, bodyBytesMax: 1024 * 1024 };

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function network(idleMs?: number): NodeNetwork {
  const made = createNodeNetwork(idleMs === undefined ? {} : { idleMs });
  closers.push(() => made.close());
  return made;
}

async function serve(listener: RequestListener): Promise<{ server: Server; url: URL }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closers.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  );
  const { port } = server.address() as AddressInfo;
  return { server, url: new URL(`http://127.0.0.1:${port}/metrics?all=1`) };
}

async function text(
  from: NodeNetwork,
  url: URL,
  options: Partial<typeof OPTIONS> = {},
): Promise<string> {
  const { status, body } = await from.get(url, { ...OPTIONS, ...options });
  return `${status} ${Buffer.from(body).toString()}`;
}

describe('createNodeNetwork', () => {
  it('gets path and query, over one kept connection', async () => {
    let connections = 0;
    const { server, url } = await serve((request, response) => {
      response.end(`${request.method} ${request.url}`);
    });
    server.on('connection', () => {
      connections += 1;
    });
    const ours = network();
    for (let i = 0; i < 20; i++) expect(await text(ours, url)).toBe('200 GET /metrics?all=1');
    expect(connections).toBe(1);
  });

  it('gives the status of an answer that is no success, and an empty body', async () => {
    const { url } = await serve((_, response) => response.writeHead(503).end());
    expect(await text(network(), url)).toBe('503 ');
  });

  it('reads bodies that come in pieces, longer and shorter than before', async () => {
    const bodies = ['short', 'x'.repeat(300_000), 'y', 'z'.repeat(100_000)];
    for (const hasLength of [true, false]) {
      const { url } = await serve((request, response) => {
        const body = bodies[Number(request.url?.slice(1))] ?? '';
        if (hasLength) response.setHeader('content-length', body.length);
        response.write(body.slice(0, 3));
        response.end(body.slice(3));
      });
      const ours = network();
      for (const [index, body] of bodies.entries()) {
        expect(await text(ours, new URL(`/${index}`, url))).toBe(`200 ${body}`);
      }
    }
  });

  it('uses the memory of a body again', async () => {
    const { url } = await serve((_, response) => response.end('page'));
    const ours = network();
    const first = await ours.get(url, OPTIONS);
    const second = await ours.get(url, OPTIONS);
    expect(second.body.buffer).toBe(first.body.buffer);
  });

  it('refuses a body that is too long, and asks again as if nothing had been', async () => {
    let length = 2000;
    const { url } = await serve((_, response) => response.end('x'.repeat(length)));
    const ours = network();
    await expect(text(ours, url, { bodyBytesMax: 1000 })).rejects.toThrow(
      `${url.href} answered more than 1000 bytes`,
    );
    length = 1000;
    expect(await text(ours, url, { bodyBytesMax: 1000 })).toBe(`200 ${'x'.repeat(1000)}`);
  });

  it('[V572] says that a server has sent 100 (Continue) unasked', async () => {
    const { url } = await serve((_, response) => response.socket?.write('HTTP/1.1 100 X\r\n\r\n'));
    await expect(text(network(), url)).rejects.toThrow(`${url.href}: it sent 100 (Continue)`);
  });

  it('[V266] gives up on a server that only says that it will answer, and on one that answers byte by byte', async () => {
    const floods = ['HTTP/1.1 103 Early\r\n\r\n', '1\r\nx\r\n'];
    for (const flood of floods) {
      let written = 0;
      const server = createTcpServer((socket) => {
        socket.on('error', () => undefined);
        if (flood.startsWith('1'))
          socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
        const piece = flood.repeat(1000);
        const more = (): void => {
          while (!socket.destroyed && written < 100_000_000 && socket.write(piece))
            written += piece.length;
        };
        socket.on('drain', more);
        more();
      });
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      closers.push(() => new Promise((resolve) => void server.close(resolve)));
      const { port } = server.address() as AddressInfo;
      const url = new URL(`http://127.0.0.1:${port}/metrics`);
      await expect(text(network(), url, { bodyBytesMax: 50_000_000 })).rejects.toThrow(
        /answered (?:11 times|in \d+ pieces)/,
      );
    }
  });

  it.each([
    ['headers', 'HTTP/1.1 200 OK\r\n'],
    ['trailers', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n'],
  ])(
    '[V293] takes a few reads of %s without end, and does not ask that server again at once',
    async (_, begin) => {
      let connections = 0;
      const server = createTcpServer((socket) => {
        connections += 1;
        socket.on('error', () => undefined);
        const headers = 'a:\r\n'.repeat(10_000);
        socket.write(begin + headers);
        socket.on('drain', () => socket.write(headers));
        socket.resume();
      });
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      closers.push(() => new Promise((resolve) => void server.close(resolve)));
      const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`);
      const ours = network();
      const flooded = 'it sent more than 16384 bytes of headers';
      await expect(text(ours, url)).rejects.toThrow(flooded);
      await expect(text(ours, url)).rejects.toThrow(`${flooded}; it is not asked for 1 s`);
      expect(connections).toBeLessThanOrEqual(2);
    },
  );

  it('gives up on a server that is silent, before or within its answer, and asks again', async () => {
    let answers: 'none' | 'half' | 'all' = 'none';
    const { url } = await serve((_, response) => {
      if (answers === 'half') response.writeHead(200, { 'content-length': 10 }).write('12345');
      if (answers === 'all') response.end('all');
    });
    const ours = network();
    const late = `${url.href} did not answer within 30 ms`;
    await expect(text(ours, url, { timeoutMs: 30 })).rejects.toThrow(late);
    answers = 'half';
    await expect(text(ours, url, { timeoutMs: 30 })).rejects.toThrow(late);
    answers = 'all';
    expect(await text(ours, url)).toBe('200 all');
  });

  it('keeps the others when one waits for its turn until its time is over', async () => {
    let answer: () => void = () => undefined;
    const late = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { url } = await serve((_, response) => void late.then(() => response.end('slow')));
    const ours = network();
    const first = text(ours, url, { timeoutMs: 60_000 });
    await expect(text(ours, url, { timeoutMs: 20 })).rejects.toThrow('did not answer');
    answer();
    expect(await first).toBe('200 slow');
    expect(await text(ours, url)).toBe('200 slow');
  });

  it.each([
    ['hangs up', (socket: Socket) => socket.destroy()],
    ['talks nonsense', (socket: Socket) => socket.end('220 mail ready\r\n\r\n')],
    [
      'stops within its answer',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx'),
    ],
  ])('rejects when the server %s, naming it', async (_, treat) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => treat(socket));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`);
    await expect(text(network(), url)).rejects.toThrow(url.href);
  });

  it('rejects where nothing listens, and finds a server that comes later', async () => {
    const { server, url } = await serve((_, response) => response.end('here'));
    await new Promise((resolve) => {
      server.close(resolve);
    });
    const ours = network();
    await expect(text(ours, url)).rejects.toThrow(`${url.href}: connect ECONNREFUSED`);
    await new Promise<void>((resolve) => {
      server.listen(Number(url.port), '127.0.0.1', resolve);
    });
    expect(await text(ours, url)).toBe('200 here');
  });

  it('begins a new connection when one does not come about in time', async () => {
    const open = new Set<Socket>();
    let connections = 0;
    // It takes the connection and never answers the TLS handshake.
    const server = createTcpServer((socket) => {
      connections += 1;
      open.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => open.delete(socket));
      socket.resume();
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`);
    const ours = network();
    for (const expected of [1, 2, 3]) {
      await expect(text(ours, url, { timeoutMs: 50 })).rejects.toThrow(url.href);
      await vi.waitFor(() => expect(connections).toBe(expected), 60_000);
    }
    await vi.waitFor(() => expect(open.size).toBe(0), 60_000);
  });

  it('closes a connection that was not used for a while, but not one that a request waits for', async () => {
    const { server, url } = await serve((request, response) => {
      if (request.url === '/slow') setTimeout(() => response.end('slow'), 150);
      else response.end('fast');
    });
    const open = new Set<Socket>();
    server.on('connection', (socket) => {
      open.add(socket);
      socket.once('close', () => open.delete(socket));
    });
    const ours = network(20);
    expect(await text(ours, new URL('/slow', url))).toBe('200 slow');
    await vi.waitFor(() => expect(open.size).toBe(0), 60_000);
    expect(await text(ours, url)).toBe('200 fast');
  });

  it('breaks off what is under way when closed, and asks no more', async () => {
    const { url } = await serve(() => undefined);
    const ours = network();
    const waiting = expect(text(ours, url)).rejects.toThrow(url.href);
    await ours.close();
    await waiting;
    await expect(text(ours, url)).rejects.toThrow('the network is closed');
  });
});
