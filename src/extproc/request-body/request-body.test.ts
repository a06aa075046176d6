import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { inertRouted } from '../../../test/support/session/inert-routed.ts';
import { createOpenBody } from '../../openai/parsers/open-body.ts';
import type { PickMutation, StreamAction } from '../codec/stream-action.ts';
import { MemoryPool } from '../streams/memory-pool.ts';
import { BodyReading } from './body-reading.ts';
import { DuplexBody } from './duplex-body.ts';
import { MessageBody } from './message-body.ts';
import type { ReadRequest } from './read-request.ts';
import type { BodyParts, RequestBody } from './request-body.ts';
import { StreamedBody } from './streamed-body.ts';

const BODY = '{"model":"m","prompt":"hello"}';
const HEAD = { id: 'a', path: '/v1/completions', headers: new Map<string, string>() };
const PICK: PickMutation = { destination: '10.0.0.1:80', setHeaders: [], removeHeaders: [] };

/** A body without a session. */
function setUp(create: (parts: BodyParts) => RequestBody, headers = HEAD.headers) {
  const actions: StreamAction[] = [];
  let heldBytes = 0;
  const head = { ...HEAD, headers };
  const reader = createOpenBody({ bodyBytesMax: 10_000, hashSeed: 1 })(head);
  const body = create({
    reading: new BodyReading({ head, reader, keepAnswerBlocks: undefined }),
    emit: (action) => void actions.push(action),
    account: {
      blocks: new MemoryPool(),
      hold: (bytes) => {
        heldBytes += bytes;
      },
      release: (bytes) => {
        heldBytes -= bytes;
      },
    },
    halfCloses: () => false,
    onOver: () => body.drop(),
  });
  return { body, heldBytes: () => heldBytes, kinds: () => actions.map(({ kind }) => kind) };
}

/** The pick is made, and answered. */
function answer(body: RequestBody, read: ReadRequest | undefined): void {
  if (read === undefined) throw new Error('the request cannot be picked yet');
  body.onRouted(inertRouted({ request: read.request, destinations: [], done: () => undefined }));
  read.answerPick(PICK);
}

it('[P3] answers what trailers end only once it is picked, in full duplex', () => {
  const { body, kinds, heldBytes } = setUp((parts) => new DuplexBody(parts));
  expect([body.onHeaders(), body.onChunk(Buffer.from(BODY), false)]).toEqual([
    undefined,
    undefined,
  ]);
  const read = body.onTrailers();
  expect(kinds()).toEqual([]);
  expect(heldBytes()).toBeGreaterThan(BODY.length);
  answer(body, read);
  expect(kinds()).toEqual([
    'answer-request-headers',
    'echo-request-body',
    'answer-request-trailers',
  ]);
  expect(heldBytes()).toBe(0);
});

it('[P3] answers what trailers end at once where it was picked before', () => {
  const { body, kinds, heldBytes } = setUp((parts) => new StreamedBody(parts, 10_000));
  body.onHeaders();
  expect(body.onChunk(Buffer.from(BODY.slice(0, -1)), false)).toBeUndefined();
  const early = body.onChunk(Buffer.from('}'), false);
  expect(kinds()).toEqual([]);
  answer(body, early);
  expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body', 'answer-request-body']);
  expect([body.onTrailers(), heldBytes()]).toEqual([undefined, 0]);
});

it('[V253] says of a compressed body that it is compressed', () => {
  const headers = new Map([['content-encoding', 'gzip']]);
  const { body } = setUp((parts) => new DuplexBody(parts), headers);
  expect(() => body.onChunk(gzipSync(BODY), true)).toThrow(
    /byte 0x1f.*; the body has content-encoding gzip, which is not read; send it without/,
  );
  const plain = setUp((parts) => new DuplexBody(parts), headers).body;
  expect(plain.onChunk(Buffer.from(BODY), true)?.request.model).toBe('m');
});

it('picks for a message at once, whether or not it says that it is the end', () => {
  for (const endOfStream of [true, false]) {
    const { body, kinds } = setUp((parts) => new MessageBody(parts, { mayBeCut: true }));
    body.onHeaders();
    expect([body.isOneMessage, kinds()]).toEqual([true, ['answer-request-headers']]);
    answer(body, body.onChunk(Buffer.from(BODY), endOfStream));
    expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body']);
  }
});

it('picks for a message that is cut by what it shows', () => {
  const { body } = setUp((parts) => new MessageBody(parts, { mayBeCut: true }));
  body.onHeaders();
  expect(body.onChunk(Buffer.from(BODY.slice(0, 20)), false)?.request.model).toBe('m');
  const whole = setUp((parts) => new MessageBody(parts, { mayBeCut: false })).body;
  expect(() => whole.onChunk(Buffer.from(BODY.slice(0, 20)), false)).toThrow(/JSON/);
});

it('picks at the headers where the proxy sends a body only after their answer', () => {
  const { body, kinds } = setUp((parts) => new StreamedBody(parts, undefined));
  answer(body, body.onHeaders());
  expect(body.onChunk(Buffer.from(BODY), true)).toBeUndefined();
  expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body']);
});
