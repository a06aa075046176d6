import { decode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Dealer, Subscriber } from 'zeromq';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { Engine } from '../engine/engine.ts';
import { EngineStats } from '../metrics/engine-stats.ts';
import { encodeBatch } from './encode-batch.ts';
import { EventRecorder } from './event-recorder.ts';
import type { KvEvent, KvEventFormat } from './kv-event.ts';
import { KvEventPublisher } from './kv-event-publisher.ts';

const FORMATS: readonly KvEventFormat[] = ['array', 'map', 'map-batch'];
const BLOCK_TOKENS = 16;

type Folded = Map<number, number>;

/** Folds batches as a subscriber would: content hash → how many blocks of a memory have it. */
class Fold {
  readonly blocks: Folded = new Map();
  readonly host: Folded = new Map();

  add(payload: Uint8Array): void {
    const batch = decode(payload) as unknown;
    const events = (
      Array.isArray(batch) ? batch[1] : (batch as { events: unknown }).events
    ) as unknown[];
    for (const event of events) this.#apply(event);
  }

  #apply(event: unknown): void {
    const values = Array.isArray(event) ? event : Object.values(event as object);
    const [type, hashes = []] = values as [string, number[]?];
    if (type === 'AllBlocksCleared') {
      this.blocks.clear();
      this.host.clear();
    }
    const memory = values.includes('CPU') ? this.host : this.blocks;
    for (const hash of hashes) {
      const count = (memory.get(hash) ?? 0) + (type === 'BlockStored' ? 1 : -1);
      if (count === 0) memory.delete(hash);
      else memory.set(hash, count);
    }
  }
}

const request = fc.record({
  prompt: fc.integer({ min: 1, max: 250 }),
  output: fc.integer({ min: 1, max: 40 }),
  family: fc.nat(3),
  steps: fc.nat(6),
  end: fc.constantFrom('run', 'run', 'abort', 'reset', 'crash'),
});

function expectCaches({ kv }: Engine, { blocks, host }: Fold): void {
  expect(blocks).toEqual(kv.pool.contents());
  expect(new Set(host.keys())).toEqual(kv.host?.contents());
  expect([...host.values()].every((count) => count === 1)).toBe(true);
}

describe('KV events', () => {
  it.each(FORMATS)(
    '[B29] folded, give exactly the blocks in the cache and in host memory after any run, as %s',
    (format) => {
      fc.assert(
        fc.property(fc.array(request, { maxLength: 30 }), (requests) => {
          const clock = new SimulatedClock();
          const fold = new Fold();
          const publish = (events: readonly KvEvent[]): void =>
            fold.add(encodeBatch({ timestampS: 1.5, events, dataParallelRank: 0 }, format));
          const recorder = new EventRecorder(BLOCK_TOKENS, publish);
          const engine = new Engine({
            clock,
            latency: () => 5,
            observer: new EngineStats(),
            kvBlocks: 40,
            blockTokens: BLOCK_TOKENS,
            sequencesMax: 6,
            batchedTokensMax: 96,
            admissionMs: 0,
            hostTier: { blocks: 25, gigabytesPerSecond: 1, setupMs: 1, bytesPerToken: 1000 },
            blockSink: recorder,
          });
          for (const { prompt, output, family, steps, end } of requests) {
            const blockHashes = Array.from(
              { length: Math.floor((prompt + output) / BLOCK_TOKENS) },
              (_, index) => 2 ** 40 * (family + 1) + index,
            );
            const tokenIds = Array.from({ length: prompt }, (_, index) => index);
            const submitted = engine.submit({
              promptTokens: prompt,
              outputTokens: output,
              blockHashes,
              tokenIds,
            });
            for (let step = 0; step < steps; step++) clock.step();
            if (end === 'abort') submitted.abort();
            if (end === 'reset') engine.resetPrefixCache({ host: true });
            if (end === 'crash') engine.crash();
            publish(recorder.take());
            expectCaches(engine, fold);
          }
          while (clock.step()) continue;
          publish(recorder.take());
          expectCaches(engine, fold);
        }),
        { seed: 864, numRuns: 150 },
      );
    },
  );

  it('lays out a stored chain as vLLM does', () => {
    const event: KvEvent = {
      type: 'BlockStored',
      blockHashes: [2 ** 52 + 1, 7],
      parentBlockHash: null,
      tokenIds: [1, 2],
      blockSize: 1,
      loraName: 'a',
      medium: 'GPU',
    };
    const batch = { timestampS: 1.5, events: [event], dataParallelRank: 3 };
    const fields = [[2 ** 52 + 1, 7], null, [1, 2], 1, null, 'GPU', 'a'];
    expect(decode(encodeBatch(batch, 'array'))).toEqual([1.5, [['BlockStored', ...fields]], 3]);
    const map = {
      type: 'BlockStored',
      block_hashes: [2 ** 52 + 1, 7],
      parent_block_hash: null,
      token_ids: [1, 2],
      block_size: 1,
      lora_id: null,
      medium: 'GPU',
      lora_name: 'a',
    };
    expect(decode(encodeBatch(batch, 'map'))).toEqual([1.5, [map], 3]);
    expect(decode(encodeBatch(batch, 'map-batch'))).toEqual({
      ts: 1.5,
      events: [map],
      data_parallel_rank: 3,
    });
  });

  it('reach a subscriber numbered from 0, and those missed can be had again', async () => {
    const publisher = new KvEventPublisher({
      endpoint: 'tcp://127.0.0.1:*',
      replayEndpoint: 'tcp://127.0.0.1:*',
      topic: 'kv@10.0.0.1:8000@m',
      format: 'array',
      dataParallelRank: 0,
      wallSeconds: () => 1.5,
    });
    await publisher.open();
    const removed = (hash: number): readonly KvEvent[] => [
      { type: 'BlockRemoved', medium: 'GPU', blockHashes: [hash] },
    ];
    publisher.publish(removed(1));
    publisher.publish([]);
    const subscriber = new Subscriber();
    subscriber.connect(publisher.endpoint);
    subscriber.subscribe('kv@');
    const replay = new Dealer();
    replay.connect(publisher.replayEndpoint ?? '');
    try {
      // A subscriber receives nothing until its subscription has reached the publisher: publish
      // until it does.
      const received = subscriber.receive();
      let next = 2;
      const timer = setInterval(() => publisher.publish(removed(next++)), 5);
      const [topic, sequence, payload] = await received;
      clearInterval(timer);
      expect(topic?.toString()).toBe('kv@10.0.0.1:8000@m');
      const number = Number(sequence?.readBigUInt64BE());
      expect(decode(payload ?? new Uint8Array())).toEqual([
        1.5,
        [['BlockRemoved', [number + 1], 'GPU']],
        0,
      ]);

      const start = Buffer.alloc(8);
      await replay.send([Buffer.alloc(0), start]);
      const numbers: number[] = [];
      for await (const [, at, again] of replay) {
        if (at?.equals(Buffer.alloc(8, 0xff))) {
          expect(again).toHaveLength(0);
          break;
        }
        numbers.push(Number(at?.readBigUInt64BE()));
      }
      expect(numbers.slice(0, number + 1)).toEqual(
        Array.from({ length: number + 1 }, (_, index) => index),
      );
    } finally {
      subscriber.close();
      replay.close();
      await publisher.close();
    }
  });
});
