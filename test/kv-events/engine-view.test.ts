import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CacheView } from '../../src/endpoints/kv-events/blocks/cache-view.ts';
import { chainKeys, TokenChain } from '../../src/endpoints/kv-events/blocks/token-chain.ts';
import { StreamStats } from '../../src/endpoints/kv-events/health/stream-stats.ts';
import { EventStream } from '../../src/endpoints/kv-events/stream/event-stream.ts';
import { ReplaySlots } from '../../src/endpoints/kv-events/stream/replay.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { Engine } from '../../stub-server/engine/engine.ts';
import { chainedHashes } from '../../stub-server/http/requests/tokenizer.ts';
import { encodeBatch } from '../../stub-server/kv-events/encode-batch.ts';
import { EventRecorder } from '../../stub-server/kv-events/event-recorder.ts';
import type { KvEvent, KvEventFormat } from '../../stub-server/kv-events/kv-event.ts';
import { EngineStats } from '../../stub-server/metrics/engine-stats.ts';

/** The stub's real engine, our view of its cache, and a wire between them that can be cut. */

const FORMATS: readonly KvEventFormat[] = ['array', 'map', 'map-batch'];
const BLOCK_TOKENS = 16;
const CHAIN = new TokenChain(1);

/** Prompts of a few families that begin alike and branch. */
function tokensOf(family: number, tokens: number, branch: number): Int32Array {
  return Int32Array.from(
    { length: tokens },
    (_, at) => 1000 * family + (at < 64 ? at : at + branch),
  );
}

function keysOf(tokens: Int32Array, root = ''): Uint32Array {
  return chainKeys(CHAIN, tokens, { blockTokens: BLOCK_TOKENS, root, salt: '' });
}

function createView(): CacheView {
  return new CacheView({
    chain: CHAIN,
    stats: new StreamStats(),
    adapters: new Set(),
    room: { left: 100_000 },
    onCleared: () => undefined,
    batchElementsMax: 100_000,
    tierWeights: new Map(),
  });
}

class Publisher {
  readonly engine: Engine;
  readonly clock = new SimulatedClock();
  readonly sent: Uint8Array[] = [];
  readonly #recorder: EventRecorder;
  readonly #format: KvEventFormat;
  readonly #startedAtS: number;

  constructor(format: KvEventFormat, startedAtS = 1) {
    this.#format = format;
    this.#startedAtS = startedAtS;
    this.#recorder = new EventRecorder(BLOCK_TOKENS, (events) => this.#publish(events));
    this.engine = new Engine({
      clock: this.clock,
      latency: () => 5,
      observer: new EngineStats(),
      kvBlocks: 60,
      blockTokens: BLOCK_TOKENS,
      sequencesMax: 6,
      batchedTokensMax: 96,
      admissionMs: 0,
      blockSink: this.#recorder,
    });
  }

  submit(tokenIds: Int32Array, outputTokens: number, lora?: string): { abort(): void } {
    return this.engine.submit({
      promptTokens: tokenIds.length,
      outputTokens,
      tokenIds,
      lora,
      blockHashes: chainedHashes(tokenIds, { blockTokens: BLOCK_TOKENS, root: lora ?? '' }),
    });
  }

  /** Leading blocks of a prompt that the engine itself would find. */
  cached(tokenIds: Int32Array, lora?: string): number {
    const contents = this.engine.kv.pool.contents();
    const hashes = chainedHashes(tokenIds, { blockTokens: BLOCK_TOKENS, root: lora ?? '' });
    const missing = hashes.findIndex((hash) => !contents.has(hash));
    return missing < 0 ? hashes.length : missing;
  }

  publish(): void {
    this.#publish(this.#recorder.take());
  }

  #publish(events: readonly KvEvent[]): void {
    if (events.length === 0) return;
    const timestampS = this.#startedAtS + this.sent.length / 1000;
    this.sent.push(encodeBatch({ timestampS, events, dataParallelRank: 0 }, this.#format));
  }
}

const request = fc.record({
  tokens: fc.integer({ min: 1, max: 300 }),
  output: fc.integer({ min: 1, max: 40 }),
  family: fc.nat(3),
  branch: fc.nat(2),
  lora: fc.constantFrom(undefined, undefined, 'a', 'b'),
  steps: fc.nat(8),
  end: fc.constantFrom('run', 'run', 'run', 'abort', 'reset', 'crash'),
});

describe('the view of an engine through its events', () => {
  it.each(FORMATS)(
    '[E8] [E12] finds of any prompt exactly what the engine would, after any run, as %s',
    (format) => {
      fc.assert(
        fc.property(fc.array(request, { maxLength: 25, size: 'max' }), (requests) => {
          const publisher = new Publisher(format);
          const view = createView();
          let read = 0;
          const check = (): void => {
            publisher.publish();
            for (; read < publisher.sent.length; read++) {
              view.apply(publisher.sent[read] as Uint8Array);
            }
            for (const { family, branch, tokens, lora } of requests) {
              const probe = tokensOf(family, tokens + 40, branch);
              const keys = keysOf(probe, lora);
              expect(view.match(keys, keys.length / 2)).toBe(publisher.cached(probe, lora));
            }
            expect(view.blocks.size).toBe(publisher.engine.kv.pool.contents().size);
          };
          for (const { tokens, output, family, branch, lora, steps, end } of requests) {
            const submitted = publisher.submit(tokensOf(family, tokens, branch), output, lora);
            for (let step = 0; step < steps; step++) publisher.clock.step();
            if (end === 'abort') submitted.abort();
            if (end === 'reset') publisher.engine.resetPrefixCache();
            if (end === 'crash') publisher.engine.crash();
            check();
          }
          while (publisher.clock.step()) continue;
          check();
        }),
        { numRuns: 60, seed: 20_260_101 },
      );
    },
  );

  it('[E8] is right again after loss, reordering and restarts, once all that can be had has come', () => {
    const wire = fc.record({
      lose: fc.integer({ min: 0, max: 3 }),
      swap: fc.boolean(),
      restart: fc.constantFrom(false, false, false, true),
    });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(request, wire), { minLength: 1, maxLength: 15, size: 'max' }),
        fc.boolean(),
        (steps, hasReplay) => {
          let publisher = new Publisher('map');
          const view = createView();
          const stats = new StreamStats();
          let asked: number | undefined;
          let lives = 1;
          const stream = new EventStream({
            clock: new SimulatedClock(),
            stats,
            replaySlots: new ReplaySlots(1),
            requestReplay: hasReplay ? (from) => void (asked = from) : undefined,
            sink: {
              apply: (payload) => {
                view.apply(payload);
                return true;
              },
              reset: (knowledge) => view.reset(knowledge),
            },
          });
          const serve = (): void => {
            while (asked !== undefined) {
              const from = asked;
              asked = undefined;
              for (let at = from; at < publisher.sent.length && asked === undefined; at++) {
                stream.replayed(at, publisher.sent[at] as Uint8Array);
              }
              if (asked === undefined) stream.replayEnded();
            }
          };
          stream.connected();
          serve();
          let received = 0;
          // What is lost at the very end shows with the next batch only.
          let current = true;
          for (const [{ tokens, output, family, branch, lora }, { lose, swap, restart }] of steps) {
            if (restart) {
              lives += 1;
              publisher = new Publisher('map', lives);
              received = 0;
              stream.connected();
              serve();
              current = hasReplay;
            }
            publisher.submit(tokensOf(family, tokens, branch), output, lora);
            while (publisher.clock.step()) publisher.publish();
            publisher.publish();
            const numbers = publisher.sent.map((_, at) => at).slice(received + lose);
            if (received < publisher.sent.length) current = numbers.length > 0;
            received = publisher.sent.length;
            // Without a replay, a late batch looks like a restart until the next batch.
            for (const at of swap && hasReplay ? numbers.reverse() : numbers) {
              stream.message(at, publisher.sent[at] as Uint8Array);
            }
            serve();
            for (const [probe] of steps) {
              const ids = tokensOf(probe.family, probe.tokens, probe.branch);
              const keys = keysOf(ids, probe.lora);
              const found = view.match(keys, keys.length / 2);
              const cached = publisher.cached(ids, probe.lora);
              if (current && view.knowledge === 'complete') expect(found).toBe(cached);
              if (current) expect(found).toBeLessThanOrEqual(cached);
              if (current && hasReplay) expect(view.knowledge).toBe('complete');
            }
          }
        },
      ),
      { numRuns: 150, seed: 20_260_101 },
    );
  });
});
