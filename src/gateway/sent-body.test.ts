import { once } from 'node:events';
import { expect, it } from 'vitest';
import { SentBody } from './sent-body.ts';

const all = { left: 100 };
const piece = (bytes: number): Buffer => Buffer.alloc(bytes, 'x');

async function lengthOf(body: SentBody): Promise<number> {
  let bytes = 0;
  for await (const chunk of body.stream) bytes += (chunk as Buffer).length;
  return bytes;
}

it('[Q290] gives all of a body to the next endpoint, also what comes later', async () => {
  const body = new SentBody({ bytesMax: 50, all });
  body.write(piece(20));
  body.stream.destroy();
  body.write(piece(10));
  body.restart();
  body.write(piece(5));
  body.end();
  expect(await lengthOf(body)).toBe(35);
  body.restart();
  expect(await lengthOf(body)).toBe(35);
  expect(all.left).toBe(65);
  body.destroy();
  expect(all.left).toBe(100);
});

it('[Q290] keeps no longer body than it may, alone and with others, and then nothing of it', async () => {
  const long = new SentBody({ bytesMax: 50, all });
  long.write(piece(40));
  expect(long.isKept).toBe(true);
  const other = new SentBody({ bytesMax: 80, all });
  other.write(piece(60));
  expect(other.isKept).toBe(true);
  const third = new SentBody({ bytesMax: 80, all });
  third.write(piece(1));
  expect([third.isKept, all.left]).toEqual([false, 0]);
  long.write(piece(11));
  expect([long.isKept, all.left]).toEqual([false, 40]);
  // What it cannot give again, it passes on all the same.
  long.end();
  expect(await lengthOf(long)).toBe(51);
  other.destroy();
  expect(all.left).toBe(100);
});

it('[Q290] says that more may be written when the next endpoint has room', async () => {
  const body = new SentBody({ bytesMax: 1e6, all: { left: 1e6 } });
  expect(body.write(piece(100_000))).toBe(false);
  body.restart();
  const drained = once(body, 'drain');
  body.stream.resume();
  await drained;
});

it('[V551] an endpoint that reads no more of a body does not hold up the picker', async () => {
  const body = new SentBody({ bytesMax: 0, all: { left: 0 } });
  expect(body.write(Buffer.alloc(100_000))).toBe(false);
  const drained = once(body, 'drain');
  // As the client of HTTP does where the endpoint has answered before the end of the body.
  body.stream.destroy();
  await drained;
  expect(body.write(Buffer.alloc(100_000))).toBe(true);
});
