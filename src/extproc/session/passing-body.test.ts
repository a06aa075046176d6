import { expect, it } from 'vitest';
import { PassingBody } from './passing-body.ts';

const CHUNK_BYTES = 16_384;

/** Two chunks in memory of their own, of which the second is to be edited. */
function passing(): { readonly body: PassingBody; readonly chunks: readonly Buffer[] } {
  const body = new PassingBody();
  const chunks = [Buffer.alloc(CHUNK_BYTES, 'a'), Buffer.alloc(CHUNK_BYTES, 'b')];
  for (const chunk of chunks) body.push(chunk);
  const start = CHUNK_BYTES + 10;
  body.settle([{ start, end: start + 3, text: Buffer.from('new'), field: 'model' }]);
  return { body, chunks };
}

it('[G155] frees the memory of chunks with the answer to them, but not of those that an edit takes parts of', () => {
  const { body, chunks } = passing();
  const [first, second] = body.release();
  expect(first).toBeUndefined();
  expect(Buffer.concat(second ?? []).toString()).toBe(
    `${'b'.repeat(10)}new${'b'.repeat(CHUNK_BYTES - 13)}`,
  );
  expect(chunks.map(({ length }) => length)).toEqual([0, CHUNK_BYTES]);
});

it('[G155] frees the memory of chunks that are never answered', () => {
  const { body, chunks } = passing();
  body.drop();
  expect(chunks.map(({ length }) => length)).toEqual([0, 0]);
});
