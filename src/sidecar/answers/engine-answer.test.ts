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

const upper: Parameters<typeof editedAnswer>[1] = async (json) => [
  Buffer.from(json.toString('latin1').toUpperCase(), 'latin1'),
];

async function piecesOf(chunks: readonly Buffer[]): Promise<readonly Buffer[]> {
  const body = Readable.from(chunks, { objectMode: false });
  const headers = { 'content-type': 'text/event-stream' };
  const edited = editedAnswer({ statusCode: 200, headers, body }, upper);
  const pieces: Buffer[] = [];
  for await (const piece of edited.body as AsyncIterable<Buffer>) pieces.push(piece);
  return pieces;
}

it('[V519] lines of an answer that came together go on together', async () => {
  const lines = Buffer.from('\n'.repeat(64 * 1024));
  expect((await piecesOf([lines])).map(({ length }) => length)).toEqual([lines.length]);
  const events = Buffer.from('id: a\ndata: {"a":1}\n\ndata: {"b":2}\n\n: c\n');
  const whole = 'id: a\ndata: {"A":1}\n\ndata: {"B":2}\n\n: c\n';
  expect(String(await piecesOf([events]))).toBe(whole);
});

it('[V519] events are the same wherever an answer is cut', async () => {
  const text =
    'event: data\r\ndata: {"a":"x"}\r\n\r\ndata:{"b":2}\n\n\ndata\ndata: [DONE]\n\ndata: {"c"';
  const whole = String(Buffer.concat(await piecesOf([Buffer.from(text)])));
  expect(whole).toContain('data: {"A":"X"}\r\n\r\ndata:{"B":2}\n');
  for (let at = 1; at < text.length; at++) {
    const cut = await piecesOf([Buffer.from(text.slice(0, at)), Buffer.from(text.slice(at))]);
    expect(String(Buffer.concat(cut)), `cut at ${at}`).toBe(whole);
  }
});
