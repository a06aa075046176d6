import { expect, it } from 'vitest';
import { MemoryPool } from '../streams/memory-pool.ts';
import { PassingBody } from './passing-body.ts';

const CHUNK_BYTES = 16_384;

function setUp() {
  const blocks = new MemoryPool();
  const account = { blocks, hold: () => undefined, release: () => undefined };
  return { blocks, body: new PassingBody(account) };
}

/** A chunk whose memory is used again at once. */
function add(body: PassingBody, fill: string): void {
  const chunk = Buffer.alloc(CHUNK_BYTES, fill);
  body.add(chunk);
  chunk.fill('!');
}

const edit = [
  { start: CHUNK_BYTES + 10, end: CHUNK_BYTES + 13, text: Buffer.from('new'), field: 'model' },
];
const EDITED = `${'b'.repeat(10)}new${'b'.repeat(CHUNK_BYTES - 13)}`;

it('[G155] keeps chunks until it is settled, frees their memory with the answers, and none of those after it', () => {
  const { body, blocks } = setUp();
  for (const fill of ['a', 'b', 'c']) add(body, fill);
  expect(blocks.taken).toBe(3);
  body.settle(edit);
  const [first, second, third] = body.release();
  expect([first, third, blocks.taken]).toEqual([undefined, undefined, 0]);
  expect(Buffer.concat(second ?? []).toString()).toBe(EDITED);
  add(body, 'd');
  expect([body.release(), blocks.taken]).toEqual([[undefined], 0]);
});

it('[G155] copies of a settled body only what an edit takes', () => {
  const { body, blocks } = setUp();
  body.settle(edit);
  for (const fill of ['a', 'b']) add(body, fill);
  const [first, second] = body.release();
  expect(first).toBeUndefined();
  expect(Buffer.concat(second ?? []).toString()).toBe(EDITED);
  expect(blocks.made).toBe(0);
});

it('[G155] frees the memory of chunks that are never answered', () => {
  const { body, blocks } = setUp();
  add(body, 'a');
  body.drop();
  expect([body.release(), blocks.taken]).toEqual([[], 0]);
});
