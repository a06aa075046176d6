import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameOf } from '../../../../bench/support/ext-proc-frames.ts';
import {
  answersIn,
  bodyOf,
  requestBody,
  requestHeaders,
  requestPart,
  responseEnd,
  responseHeaders,
  responsePart,
} from '../../../../test/support/grpc/ext-proc-client.ts';
import {
  data,
  bodyOf as dataOf,
  FakeTransport,
  framesOf,
  headers,
  settings,
  windowUpdate,
} from '../../../../test/support/session/http2-peer.ts';
import { sessionConnection } from '../../../../test/support/session/session-connection.ts';
import type { Http2Connection } from '../../http2/connection.ts';
import { PREFACE } from '../../http2/frames.ts';
import { OpenStreams } from '../../streams/open-streams.ts';

const SEED = 20_261_123;
const FRAME_BYTES = 16 * 1024;
const BEGIN = Buffer.concat([PREFACE, settings([4, 2 ** 30]), windowUpdate(0, 2 ** 30)]);

/** Sessions on a connection whose reads are overwritten as soon as they may be. */
class Connection {
  readonly transport: FakeTransport = new FakeTransport();
  /** Bytes of reads by whether they were kept. */
  readonly bytes = { kept: 0, free: 0 };
  readonly streams = new OpenStreams({ heldBytesMax: 2 ** 30, streamsMax: 100 });
  readonly #connection: Http2Connection;

  constructor() {
    this.#connection = sessionConnection(this.transport, this.streams);
  }

  async receive(bytes: Buffer): Promise<void> {
    const read = Buffer.from(bytes);
    const kept = this.#connection.receive(read);
    if (!kept) read.fill(0xaa);
    this.bytes[kept ? 'kept' : 'free'] += read.length;
    // Answers are written in the ticks that follow.
    await new Promise((resolve) => setImmediate(resolve));
    this.transport.turn();
  }
}

/** The frames of one request, whose messages are cut as HTTP/2 clients cut them. */
function requestFrames(streamId: number, messages: readonly object[]): Buffer {
  const bytes = Buffer.concat(messages.map(frameOf));
  const frames = [headers(streamId)];
  for (let at = 0; at < bytes.length; at += FRAME_BYTES)
    frames.push(data(streamId, bytes.subarray(at, at + FRAME_BYTES)));
  return Buffer.concat(frames);
}

const HEADERS = requestHeaders({ ':method': 'POST', ':path': '/v1/completions' });

/** Two requests at once, with a body in parts and an answer each. */
interface Case {
  readonly parts: readonly number[];
  readonly answerBytes: number;
  /** Where a read ends, in thousandths of all bytes. */
  readonly cuts: readonly number[];
}

const CASE: fc.Arbitrary<Case> = fc.record({
  parts: fc.array(fc.nat({ max: 40_000 }), { maxLength: 4 }),
  answerBytes: fc.nat({ max: 40_000 }),
  cuts: fc.array(fc.integer({ min: 1, max: 999 }), { minLength: 3, maxLength: 30, size: 'max' }),
});

const STREAMS = [1, 3];

function bodyOfCase(streamId: number, { parts }: Case): string {
  const bytes = parts.reduce((sum, part) => sum + part, 1);
  return `{"model":"m","prompt":"${String(streamId).repeat(bytes)}"}`;
}

function framesOfCase(streamId: number, one: Case): Buffer {
  const body = bodyOfCase(streamId, one);
  const ends = one.parts.map((_, index) => one.parts.slice(0, index + 1).reduce((a, b) => a + b));
  const pieces = ends.map((end, index) => body.slice(ends[index - 1] ?? 0, end));
  return requestFrames(streamId, [
    HEADERS,
    ...pieces.map((piece) => requestPart(piece)),
    requestBody(body.slice(ends.at(-1) ?? 0)),
    responseHeaders({ ':status': '200' }),
    responsePart('a'.repeat(one.answerBytes)),
    responseEnd(String(streamId)),
  ]);
}

describe('the memory of what is read from a connection', () => {
  it('[V200] [G4] may be used again at once, but for what is sent back from it', async () => {
    await fc.assert(
      fc.asyncProperty(CASE, async (one) => {
        const connection = new Connection();
        await connection.receive(BEGIN);
        const bytes = Buffer.concat(STREAMS.map((streamId) => framesOfCase(streamId, one)));
        const ends = one.cuts.map((share) => Math.floor((share * bytes.length) / 1000));
        let from = 0;
        for (const to of [...ends, bytes.length].sort((a, b) => a - b)) {
          if (to > from) await connection.receive(bytes.subarray(from, to));
          from = to;
        }
        const frames = framesOf(connection.transport.take());
        for (const streamId of STREAMS) {
          const answers = answersIn(dataOf(frames, streamId));
          const answer = `${'a'.repeat(one.answerBytes)}${streamId}`;
          expect(bodyOf(answers, 'request_body').text).toBe(bodyOfCase(streamId, one));
          expect(bodyOf(answers, 'response_body').text).toBe(answer);
        }
      }),
      { seed: SEED, numRuns: 20 },
    );
  });

  it('[V200] is not kept for uploads that go on', async () => {
    const connection = new Connection();
    await connection.receive(BEGIN);
    const first = [HEADERS, requestPart('{"model":"m","prompt":"')];
    await connection.receive(requestFrames(1, first));
    connection.bytes.kept = 0;
    for (let each = 0; each < 10; each++) {
      const message = frameOf(requestPart('x'.repeat(FRAME_BYTES)));
      await connection.receive(data(1, message.subarray(0, FRAME_BYTES)));
      await connection.receive(data(1, message.subarray(FRAME_BYTES)));
    }
    expect(connection.bytes.kept).toBe(0);
  });

  it('[B243] counts among what is kept while a peer takes no answers', async () => {
    const connection = new Connection();
    await connection.receive(Buffer.concat([PREFACE, settings([4, 0])]));
    await connection.receive(
      requestFrames(1, [HEADERS, requestBody('{"model":"m","prompt":"x"}')]),
    );
    await connection.receive(
      requestFrames(1, [responseHeaders({ ':status': '200' })]).subarray(headers(1).length),
    );
    const part = (): Promise<void> =>
      connection.receive(data(1, frameOf(responsePart('x'.repeat(1000)))));
    for (let each = 0; each < 20; each++) await part();
    const before = connection.streams.heldBytes;
    for (let each = 0; each < 10; each++) await part();
    expect(connection.streams.heldBytes - before).toBeGreaterThan(10_000);
    await connection.receive(Buffer.concat([settings([4, 2 ** 20]), windowUpdate(0, 2 ** 20)]));
    for (let turn = 0; turn < 5; turn++) await connection.receive(windowUpdate(0, 1));
    expect(connection.streams.heldBytes).toBeLessThan(before);
  });
});
