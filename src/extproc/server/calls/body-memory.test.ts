import fc from 'fast-check';
import { expect, it } from 'vitest';
import { frameOf } from '../../../../bench/support/ext-proc-frames.ts';
import {
  answersIn,
  bodyOf,
  requestBody,
  requestHeaders,
  requestPart,
} from '../../../../test/support/grpc/ext-proc-client.ts';
import {
  data,
  bodyOf as dataOf,
  FakeTransport,
  framesOf,
  headers,
  reset,
  settings,
  windowUpdate,
} from '../../../../test/support/session/http2-peer.ts';
import { sessionConnection } from '../../../../test/support/session/session-connection.ts';
import type { Http2Connection } from '../../http2/connection.ts';
import { PREFACE } from '../../http2/frames.ts';
import type { MemoryPool } from '../../streams/memory-pool.ts';
import { OpenStreams } from '../../streams/open-streams.ts';

const SEED = 20_261_123;
const FRAME_BYTES = 16 * 1024;
const HEADERS = requestHeaders({ ':method': 'POST', ':path': '/v1/completions' });

/** A connection whose client takes answers when it likes. Memory that is free is overwritten. */
class Connection {
  readonly blocks: MemoryPool;
  readonly #transport = new FakeTransport();
  readonly #connection: Http2Connection;
  #sent: Buffer[] = [];

  constructor(windowBytes: number) {
    const streams = new OpenStreams({ heldBytesMax: 2 ** 30, streamsMax: 100 });
    this.blocks = streams.blocks;
    const give = this.blocks.give.bind(this.blocks);
    this.blocks.give = (block) => {
      block.fill(0xaa);
      give(block);
    };
    this.#connection = sessionConnection(this.#transport, streams);
    const begin = [PREFACE, settings([4, windowBytes]), windowUpdate(0, 2 ** 30)];
    this.#connection.receive(Buffer.concat(begin));
  }

  async receive(bytes: Buffer): Promise<void> {
    const read = Buffer.from(bytes);
    if (!this.#connection.receive(read)) read.fill(0xaa);
    await this.turn();
  }

  /** The client takes nothing more, or all that there is. */
  async takes(all: boolean): Promise<void> {
    this.#transport.idle = all;
    this.#transport.blocked = !all;
    if (!all) return;
    this.#transport.leave();
    this.#connection.drained();
    await this.turn();
  }

  close(): void {
    this.#connection.closed();
  }

  answers(streamId: number): ReturnType<typeof answersIn> {
    this.#sent = [Buffer.concat([...this.#sent, this.#transport.take()])];
    return answersIn(dataOf(framesOf(this.#sent[0] as Buffer), streamId));
  }

  /** Answers are written in the ticks that follow. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#transport.turn();
  }
}

interface Upload {
  readonly chunks: readonly number[];
  /** What the client does with it. */
  readonly end: 'whole' | 'left' | 'reset-later';
}

const UPLOADS = fc.array(
  fc.record({
    chunks: fc.array(fc.nat({ max: 40_000 }), { maxLength: 6 }),
    end: fc.constantFrom<Upload['end']>('whole', 'whole', 'left', 'reset-later'),
  }),
  { minLength: 1, maxLength: 6 },
);
const STEPS = fc.array(
  fc.record({ of: fc.nat(5), takes: fc.option(fc.boolean(), { nil: undefined, freq: 4 }) }),
  { minLength: 10, maxLength: 80 },
);

function textOf({ chunks }: Upload, index: number): string {
  const bytes = chunks.reduce((sum, chunk) => sum + chunk, 1);
  return `{"model":"m","prompt":"${String.fromCharCode(97 + index).repeat(bytes)}"}`;
}

/** The frames of an upload, in the order in which they must come. */
function framesOfUpload(upload: Upload, index: number): Buffer[] {
  const streamId = 2 * index + 1;
  const text = textOf(upload, index);
  let at = 0;
  const messages = [HEADERS];
  for (const bytes of upload.chunks) {
    messages.push(requestPart(text.slice(at, at + bytes)));
    at += bytes;
  }
  if (upload.end !== 'left') messages.push(requestBody(text.slice(at)));
  const bytes = Buffer.concat(messages.map(frameOf));
  const frames = [headers(streamId)];
  for (let from = 0; from < bytes.length; from += FRAME_BYTES)
    frames.push(data(streamId, bytes.subarray(from, from + FRAME_BYTES)));
  if (upload.end !== 'whole') frames.push(reset(streamId));
  return frames;
}

it('[V211] bodies leave as they came, however uploads interleave, break off and wait, and nothing of their memory stays taken', async () => {
  await fc.assert(
    fc.asyncProperty(UPLOADS, STEPS, fc.boolean(), async (uploads, steps, narrow) => {
      const connection = new Connection(narrow ? 20_000 : 2 ** 30);
      const queues = uploads.map(framesOfUpload);
      const opened: Buffer[] = queues.map((queue) => queue.shift() as Buffer);
      await connection.receive(Buffer.concat(opened));
      for (const { of, takes } of steps) {
        if (takes !== undefined) await connection.takes(takes);
        const frame = queues[of % queues.length]?.shift();
        if (frame !== undefined) await connection.receive(frame);
      }
      await connection.takes(true);
      for (const queue of queues) for (const frame of queue) await connection.receive(frame);
      for (let index = 0; index < uploads.length; index++) {
        const upload = uploads[index] as Upload;
        const streamId = 2 * index + 1;
        if (upload.end !== 'whole') continue;
        if (narrow) await connection.receive(windowUpdate(streamId, 2 ** 29));
        expect(bodyOf(connection.answers(streamId), 'request_body').text).toBe(
          textOf(upload, index),
        );
      }
      await connection.turn();
      expect(connection.blocks.taken).toBe(0);
    }),
    { seed: SEED, numRuns: 60 },
  );
});

it('[V211] a connection that breaks gives back what waits in it, sent or not', async () => {
  const connection = new Connection(2 ** 30);
  const chunks = [30_000, 30_000];
  await connection.receive(Buffer.concat(framesOfUpload({ chunks, end: 'left' }, 0).slice(0, -1)));
  await connection.takes(false);
  await connection.receive(Buffer.concat(framesOfUpload({ chunks, end: 'whole' }, 1)));
  expect(connection.blocks.taken).toBeGreaterThan(5);
  connection.close();
  await connection.turn();
  expect(connection.blocks.taken).toBe(0);
});
