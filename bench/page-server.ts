import { createServer, type Server } from 'node:net';
import { vllmPage } from './vllm-page.ts';

// A process of its own, so that what serving costs is not counted as scraping. Raw sockets and ready-made answers:
// it shares two cores with what is measured. Takes the number of endpoints as its argument, sends their ports.

const VARIANTS = 32;
const END_OF_REQUEST = Buffer.from('\r\n\r\n');

const answers = Array.from({ length: VARIANTS }, (_, index) => {
  const page = vllmPage({
    running: (index * 7) % 40,
    waiting: (index * 3) % 12,
    kvUsage: ((index * 31) % 100) / 128,
    finished: 900 + index * 613,
  });
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: ${Buffer.byteLength(page)}\r\n\r\n${page}`,
  );
});

function listen(first: number): Promise<Server> {
  let next = first;
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('data', (data: Buffer) => {
      if (!data.includes(END_OF_REQUEST)) return;
      const answer = answers[next++ % VARIANTS];
      if (answer !== undefined) socket.write(answer);
    });
    socket.on('error', () => socket.destroy());
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

const count = Number(process.argv[2]);
const servers = await Promise.all(Array.from({ length: count }, (_, index) => listen(index)));
process.send?.(
  servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' ? address?.port : undefined;
  }),
);
process.on('disconnect', () => process.exit(0));
