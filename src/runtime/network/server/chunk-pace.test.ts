import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../../../bench/support/stack.ts';
import { SimulatedClock } from '../../clock/simulated-clock.ts';
import { HttpFront } from './http-front.ts';
import { mergedPieces } from './merged-pieces.ts';

const CHUNKS = 400_000;
const clients: Socket[] = [];
let front: HttpFront;

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await front.stop();
});

type Reader = (request: IncomingMessage, onBytes: (bytes: number) => void) => unknown;

const READERS: readonly (readonly [name: string, read: Reader])[] = [
  ['as it comes', (request, onBytes) => request.on('data', ({ length }) => onBytes(length))],
  [
    'in merged pieces',
    async (request, onBytes) => {
      try {
        for await (const { length } of mergedPieces(request)) onBytes(length);
      } catch {
        // The test ends its clients.
      }
    },
  ],
];

it.each(READERS)(
  '[V444] a client whose chunks are tiny is read on as time passes, and others at once: %s',
  async (_, read) => {
    const clock = new SimulatedClock();
    const bytes = new Map<string, number>();
    front = new HttpFront({
      clock,
      requestsMax: 100,
      onRequest: ({ request }) => {
        const path = request.url ?? '';
        void read(request, (more) => bytes.set(path, (bytes.get(path) ?? 0) + more));
      },
      onRefused: (response) => void response.end(),
    });
    const port = await front.listen('127.0.0.1', 0);
    const send = async (path: string, body: string): Promise<void> => {
      const client = connect(port, '127.0.0.1').on('error', () => undefined);
      clients.push(client);
      await once(client, 'connect');
      client.write(`POST ${path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${body}`);
    };
    await send('/flood', '1\r\nx\r\n'.repeat(CHUNKS));
    const flooded = (): number => bytes.get('/flood') ?? 0;
    await eventually(flooded, (count) => count > 10_000);
    for (let index = 0; index < 20; index++) {
      await send(`/${index}`, '8\r\ntext tex\r\n'.repeat(90));
      await eventually(
        () => bytes.get(`/${index}`),
        (count) => count === 720,
      );
    }
    expect(flooded()).toBeLessThan(60_000);
    await eventually(
      () => {
        clock.advanceTo(clock.now() + 100);
        return flooded();
      },
      (count) => count === CHUNKS,
    );
    expect(clock.now()).toBeGreaterThanOrEqual(3_000);
  },
);
