import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import { CACHE_CONFIG } from '../../src/framework/endpoint-attributes.ts';
import { DEFAULT_MEDIA } from '../../src/framework/prompt-reading.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import { createOpenBody } from '../../src/openai/parsers/open-body.ts';
import { approxPrefixProducer } from '../../src/plugins/producers/approx-prefix-producers.ts';
import { SentPrefixIndex } from '../../src/plugins/producers/sent-prefix-index.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makePool, makeRouted } from '../makers.ts';
import { bestOf, type ModelBody, type ModelEndpoint, ReferenceModel } from './reference-model.ts';

const openBody = createOpenBody({
  bodyBytesMax: 10_000_000,
  hashSeed: 7,
  prompts: () => ({ referenceText: true, media: DEFAULT_MEDIA }),
});

function read(body: ModelBody): InferenceRequest {
  const path = body.messages === undefined ? '/v1/completions' : '/v1/chat/completions';
  const reader = openBody({ id: 'r', path, headers: new Map() });
  reader.push(new TextEncoder().encode(JSON.stringify(body)));
  return reader.end();
}

/** The index of `reference-default`, for engines that report so many blocks of 16 tokens. */
function makeIndex(names: readonly string[], blocks: number) {
  const pool = makePool(
    names.map((id) => ({ id, attributes: [[CACHE_CONFIG as never, { blockTokens: 16, blocks }]] })),
  ) as readonly Endpoint[];
  const config = approxPrefixProducer.config.parse({});
  const index = new SentPrefixIndex(config as never, 'p', new SimulatedClock());
  for (const endpoint of pool) index.onEndpointAdded(endpoint);
  return { index, pool };
}

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

describe('decisions of reference-default beside a model of the reference', () => {
  it('[D280] hold, match and forget the same blocks of any prompts', () => {
    const letters = fc.array(fc.constantFrom('x', 'y'), { minLength: 1, maxLength: 8 });
    const tail = fc.oneof(fc.constant(0), fc.integer({ min: 2, max: 254 }));
    const step = fc.record({ letters, at: fc.nat(2), tail });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 12 }),
        (steps, blocks) => {
          const { index, pool } = makeIndex(NAMES.slice(0, 3), blocks);
          const model = new ReferenceModel();
          const endpoints = pool.map(({ id }) => ({ name: id, waiting: 0, kv: 0, blocks }));
          for (const { letters: text, at, tail: rest } of steps) {
            const whole = text.map((letter) => letter.repeat(256)).join('');
            const body = { model: 'm', prompt: whole + 'z'.repeat(rest) };
            const request = read(body);
            const { matchedBlocks, totalBlocks } = index.match(request, pool);
            const wanted = model.match(body, endpoints);
            expect([totalBlocks, ...pool.map(matchedBlocks)]).toEqual([
              wanted.total,
              ...wanted.matched,
            ]);
            index.onRouted(makeRouted(pool[at] as Endpoint, { request }));
            model.sent(body, endpoints[at] as ModelEndpoint);
          }
        },
      ),
      { numRuns: 300, seed: 20_261_123 },
    );
  });

  it('[D281] are in its tie set for all requests of chats that share prompts', () => {
    const seed = 281;
    const random = seededRandom(seed);
    const { index, pool } = makeIndex(NAMES, 150);
    const model = new ReferenceModel();
    let agreed = 0;
    let requests = 0;
    for (const body of chats(random.next.bind(random))) {
      const endpoints = NAMES.map((name) => ({
        name,
        waiting: Math.floor(random.next() * 6),
        kv: Math.round(random.next() * 100) / 100,
        blocks: 150,
      }));
      const request = read(body);
      const { matchedBlocks, totalBlocks } = index.match(request, pool);
      const ours = bestOf(endpoints, pool.map(matchedBlocks), totalBlocks);
      const theirs = model.picks(body, endpoints);
      requests += 1;
      if (ours.every((at) => theirs.includes(at))) agreed += 1;
      const at = theirs[Math.floor(random.next() * theirs.length)] ?? 0;
      index.onRouted(makeRouted(pool[at] as Endpoint, { request }));
      model.sent(body, endpoints[at] as ModelEndpoint);
    }
    expect(requests).toBe(2000);
    expect(agreed, `seed ${seed}`).toBe(requests);
  });
});

const WORDS = [
  'the',
  'quick "brown"',
  'fox\n',
  'jumps',
  'über',
  '中文',
  'den\tHund',
  'and 42',
  '{}',
];

/**
 * Chats of several turns, ten system prompts, some with tools or parts; in turn, 2,000 requests.
 */
function* chats(next: () => number): Generator<ModelBody> {
  const words = (count: number): string =>
    Array.from({ length: count }, () => WORDS[Math.floor(next() * WORDS.length)]).join(' ');
  const systems = Array.from({ length: 10 }, () => words(50 + Math.floor(next() * 500)));
  const tools = [{ type: 'function', function: { name: 'search', description: words(80) } }];
  const open: { system: string; turns: { role: string; content: string }[] }[] = [];
  for (let count = 0; count < 2000; count++) {
    const isNew = open.length < 20 || next() < 0.2;
    if (isNew) {
      open.push({ system: systems[Math.floor(next() * 10)] ?? '', turns: [] });
      if (open.length > 60) open.shift();
    }
    const chat = isNew ? open.at(-1) : open[Math.floor(next() * open.length)];
    if (chat === undefined) continue;
    if (chat.turns.length > 0) chat.turns.push({ role: 'assistant', content: words(60) });
    chat.turns.push({ role: 'user', content: words(5 + Math.floor(next() * 60)) });
    const first = { role: 'system', content: [{ type: 'text', text: chat.system }] };
    const plain = { role: 'system', content: chat.system };
    const isParts = chat.system.length % 3 === 0;
    const messages = [isParts ? first : plain, ...chat.turns];
    yield { model: 'm', messages, ...(chat.system.length % 2 === 0 && { tools }) };
  }
}
