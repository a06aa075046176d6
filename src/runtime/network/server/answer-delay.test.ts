import { createServer, type Server } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../../../bench/support/stack.ts';
import { SimulatedClock } from '../../clock/simulated-clock.ts';
import { AnswerDelay } from './answer-delay.ts';
import { closeServer, listen } from './listen.ts';

const clock = new SimulatedClock();
let server: Server;
let delay: AnswerDelay;
let connections = 0;
let requests = 0;

afterEach(async () => {
  delay.stop();
  await closeServer(server);
});

async function start(): Promise<void> {
  connections = 0;
  requests = 0;
  server = createServer((_request, response) => {
    requests += 1;
    response.end();
  }).on('connection', () => void (connections += 1));
  const port = await listen(server, '127.0.0.1', 0);
  delay = new AnswerDelay({ clock, host: '127.0.0.1', port });
}

const passes = (ms: number): void => clock.advanceTo(clock.now() + ms);

it('[V540] what a new client waits grows until it is answered, and the next answer says how it is now', async () => {
  await start();
  expect(delay.read()).toBe(0);
  // No turn of the event loop has come, so nothing is accepted.
  passes(700);
  expect(delay.read()).toBe(700);
  const later: number[] = [];
  await eventually(
    () => {
      passes(10);
      later.push(delay.read());
      return later.at(-1) ?? 0;
    },
    (ms) => ms < 700,
  );
  expect(later[0]).toBe(710);
  expect(requests).toBe(0);
});

it('[V540] one connection at a time asks', async () => {
  await start();
  for (let read = 0; read < 50; read++) {
    passes(1000);
    delay.read();
  }
  await eventually(
    () => connections,
    (count) => count > 0,
  );
  expect(connections).toBe(1);
});
