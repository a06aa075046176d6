import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { editedAnswer } from './engine-answer.ts';

const PIECE = Buffer.alloc(64 * 1024, 'b');

it('[V432] an engine’s event without end is passed on in pieces, and no more than 4 MiB of it are kept', async () => {
  let sent = 0;
  const endless = function* () {
    yield Buffer.from('data: {"a":"');
    for (; sent < 2000; sent++) yield PIECE;
  };
  const body = Readable.from(endless(), { objectMode: false });
  const headers = { 'content-type': 'text/event-stream' };
  const edited = editedAnswer({ statusCode: 200, headers, body }, async (json) => [json]);
  let most = 0;
  let passed = 0;
  for await (const chunk of edited.body as AsyncIterable<Buffer>) {
    most = Math.max(most, chunk.length);
    passed += chunk.length;
  }
  expect(passed).toBe(12 + 2000 * PIECE.length);
  expect(most).toBeLessThanOrEqual(4 * 1024 * 1024 + PIECE.length);
});
