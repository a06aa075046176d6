import { describe, expect, it } from 'vitest';
import { makePool, makeRequest, makeRouted, NOW } from '../../../test/makers.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, ENGINE_COUNT, STARTED_AT } from '../../framework/endpoint-attributes.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import { UNLIMITED_APPROX_CONFIG } from './approx-prefix-config.ts';
import { ApproxPrefixIndex } from './approx-prefix-index.ts';

/** A prompt of so many blocks that no other number begins. */
function prompt(number: number, count: number): PromptBlocks {
  const words = Uint32Array.from({ length: 2 * count }, (_, at) => number * 1_000_003 + at);
  return { count, blockTokens: 64, words };
}

function request(number: number, blocks: number): InferenceRequest {
  return makeRequest({ promptTokens: 64 * blocks, prompt: prompt(number, blocks) });
}

function index(endpoints: readonly Endpoint[], keepInFlight = false): ApproxPrefixIndex {
  const config = { ...UNLIMITED_APPROX_CONFIG, keepInFlight };
  const made = new ApproxPrefixIndex(config, 'approx-prefix-cache-producer');
  for (const endpoint of endpoints) made.onEndpointAdded(endpoint);
  return made;
}

const [a, b] = makePool([{}, {}]) as readonly [Endpoint, Endpoint];
const matched = (held: ApproxPrefixIndex, asked: InferenceRequest, endpoint: Endpoint): number =>
  held.match(asked).matchedBlocks(endpoint);

/** An answer to a request of which 1,600 tokens were thought to be cached. */
function answer(
  held: ApproxPrefixIndex,
  asked: InferenceRequest,
  cachedTokens: number,
  at = NOW,
  from = a,
): void {
  const routed = makeRouted(from, { request: asked, cachedTokens: 1600, at });
  const usage = { promptTokens: asked.promptTokens, completionTokens: 1, cachedTokens };
  held.onDone(routed, at, 'completed', usage);
}

let time = NOW;

/** Answers that find nothing, each to a request that was sent after the one before had ended. */
function findNothing(held: ApproxPrefixIndex, answers: number): void {
  for (let number = 0; number < answers; number++) {
    time += 1;
    held.onRouted(makeRouted(a, { request: request(number, 30), at: time }));
    answer(held, request(number, 30), 0, time);
  }
}

describe('the approximate prefix index', () => {
  it('holds what was sent to an endpoint, and to the one that computed its prompt', () => {
    const held = index([a, b]);
    held.onRouted(makeRouted(a, { request: request(1, 30) }));
    held.onRouted(makeRouted(a, { request: request(2, 30), prefill: b }));
    expect([matched(held, request(1, 30), a), matched(held, request(1, 30), b)]).toEqual([30, 0]);
    expect([matched(held, request(2, 30), a), matched(held, request(2, 30), b)]).toEqual([30, 30]);
  });

  it('holds what an endpoint has answered, and not at the one that only computed the prompt', () => {
    const held = index([a, b]);
    const routed = makeRouted(a, { request: request(1, 30), prefill: b });
    held.onRouted(routed);
    held.onAnswered(routed, prompt(1, 34));
    expect([matched(held, request(1, 40), a), matched(held, request(1, 40), b)]).toEqual([34, 30]);
  });

  it('forgets as an engine of the reported size does, and a prompt of a million tokens fits', () => {
    const small = makePool([
      { attributes: [[CACHE_CONFIG as never, { blockTokens: 16, blocks: 400 }]] },
    ]) as readonly [Endpoint];
    const held = index(small);
    for (let number = 0; number < 10; number++) {
      held.onRouted(makeRouted(small[0], { request: request(number, 50) }));
    }
    expect(held.size(small[0])).toBe(100);
    expect(matched(held, request(9, 50), small[0])).toBe(50);
    expect(matched(held, request(7, 50), small[0])).toBe(0);
    const long = index([a]);
    long.onRouted(makeRouted(a, { request: request(1, 15_625) }));
    expect(long.size(a)).toBe(Math.floor(500_000 / 64));
    expect(matched(long, request(1, 15_625), a)).toBe(Math.floor(500_000 / 64));
  });

  it('[V573] forgets all of an endpoint whose process began anew, and only then', () => {
    const started = (at: number | undefined): Endpoint =>
      (makePool([{ attributes: [[STARTED_AT as never, at]] }]) as readonly [Endpoint])[0];
    const held = index([a]);
    held.onRouted(makeRouted(a, { request: request(1, 30) }));
    held.onEndpointChanged(started(100), started(undefined));
    held.onEndpointChanged(started(100), started(100));
    // Computed from the age of the process at each scrape, while its clock is set.
    for (const at of [101, 99, 100.3]) held.onEndpointChanged(started(at), started(100));
    expect(held.size(a)).toBe(30);
    held.onEndpointChanged(started(200), started(100));
    expect(held.size(a)).toBe(0);
  });

  it('takes a cache for lost when three answers in a row found nothing of what should be there', () => {
    const held = index([a]);
    for (const number of [1, 2, 3]) held.onRouted(makeRouted(a, { request: request(number, 30) }));
    answer(held, request(1, 30), 0);
    answer(held, request(2, 30), 0);
    answer(held, request(3, 30), 1600);
    answer(held, request(1, 30), 0);
    answer(held, request(2, 30), 0);
    expect(held.size(a)).toBe(90);
    answer(held, request(3, 30), 0);
    expect([held.size(a), matched(held, request(3, 30), a)]).toEqual([30, 30]);
  });

  it('[Q330] expects nothing of an endpoint that never found anything', () => {
    const held = index([a, b]);
    findNothing(held, 2);
    expect(held.size(a)).toBeGreaterThan(0);
    findNothing(held, 3);
    for (const endpoint of [a, b]) held.onRouted(makeRouted(endpoint, { request: request(1, 30) }));
    expect([matched(held, request(1, 30), a), matched(held, request(1, 30), b)]).toEqual([0, 30]);
  });

  it('[Q330] expects nothing of an endpoint whose cache was lost twice with nothing found in between', () => {
    const held = index([a]);
    answer(held, request(1, 30), 1600);
    const matchedThen: number[] = [];
    for (const misses of [3, 2, 1]) {
      findNothing(held, misses);
      held.onRouted(makeRouted(a, { request: request(1, 30) }));
      matchedThen.push(matched(held, request(1, 30), a));
    }
    expect(matchedThen).toEqual([30, 30, 0]);
  });

  it('[Q330] does not count answers to what was sent before the cache was lost', () => {
    const held = index([a]);
    answer(held, request(1, 30), 1600);
    for (let count = 0; count < 10; count++) answer(held, request(1, 30), 0);
    held.onRouted(makeRouted(a, { request: request(1, 30) }));
    expect(matched(held, request(1, 30), a)).toBe(30);
  });

  it('[Q330] expects something again once an answer has found something, or the process began anew', () => {
    const restarted = (held: ApproxPrefixIndex): void => {
      const [before, now] = makePool(
        [100, 200].map((at) => ({ attributes: [[STARTED_AT as never, at]] })),
      ) as readonly [Endpoint, Endpoint];
      held.onEndpointChanged({ ...now, slot: a.slot }, before);
    };
    for (const again of [
      (held: ApproxPrefixIndex) => answer(held, request(9, 1), 16, NOW + 100),
      restarted,
    ]) {
      const held = index([a]);
      findNothing(held, 6);
      again(held);
      held.onRouted(makeRouted(a, { request: request(1, 30) }));
      expect(matched(held, request(1, 30), a)).toBe(30);
    }
  });

  it('[Q331] expects nothing of an endpoint that says it keeps no prefixes, from the moment it says so', () => {
    const [known, off] = makePool(
      [{}, { keepsPrefixes: false }].map((kept) => ({
        attributes: [[CACHE_CONFIG as never, { blockTokens: 16, blocks: 4000, ...kept }]],
      })),
    ) as readonly [Endpoint, Endpoint];
    const held = index([known]);
    held.onRouted(makeRouted(known, { request: request(1, 30) }));
    const [now] = [{ ...off, slot: known.slot }];
    held.onEndpointChanged(now, known);
    held.onRouted(makeRouted(now, { request: request(2, 30) }));
    expect(held.size(now)).toBe(0);
  });

  it.each([
    [1, 3],
    [2, 13],
    [8, 68],
  ])('[Q320] takes the caches of %i engines for lost after %i such answers', (engines, misses) => {
    const [several] = makePool([{ attributes: [[ENGINE_COUNT as never, engines]] }]) as readonly [
      Endpoint,
    ];
    const held = index([several]);
    for (const number of [1, 2])
      held.onRouted(makeRouted(several, { request: request(number, 30) }));
    answer(held, request(1, 30), 1600, NOW, several);
    for (let miss = 1; miss < misses; miss++) answer(held, request(1, 30), 0, NOW, several);
    expect(held.size(several)).toBe(60);
    answer(held, request(1, 30), 0, NOW, several);
    expect(held.size(several)).toBe(30);
  });

  it('does not take a server that says nothing of its cache for one that found nothing', () => {
    const held = index([a]);
    held.onRouted(makeRouted(a, { request: request(1, 30) }));
    const routed = makeRouted(a, { request: request(1, 30), cachedTokens: 1600 });
    for (let count = 0; count < 5; count++) {
      const usage = { promptTokens: 1920, completionTokens: 1, cachedTokens: undefined };
      held.onDone(routed, NOW, 'completed', usage);
    }
    expect(held.size(a)).toBe(30);
  });

  describe('with keepInFlight', () => {
    const [small] = makePool([
      { attributes: [[CACHE_CONFIG as never, { blockTokens: 64, blocks: 100 }]] },
    ]) as readonly [Endpoint];
    /** Sends a request there, and returns what ends it. */
    function send(held: ApproxPrefixIndex, asked: InferenceRequest): () => void {
      const routed = makeRouted(small, { request: asked });
      held.onRouted(routed);
      return () => held.onDone(routed, NOW, 'aborted', undefined);
    }

    it('[D160] holds the prompt of a request in flight, and after its end forgets it after older ends', () => {
      for (const keepInFlight of [false, true]) {
        const held = index([small], keepInFlight);
        const end = send(held, request(1, 40));
        for (const number of [2, 3, 4]) send(held, request(number, 30))();
        expect(matched(held, request(1, 40), small)).toBe(keepInFlight ? 40 : 10);
        end();
        send(held, request(5, 50))();
        expect(matched(held, request(1, 40), small)).toBe(keepInFlight ? 40 : 0);
      }
    });

    it('[D161] unpins a prompt that was computed elsewhere at the first token', () => {
      const held = index([small, b], true);
      const routed = makeRouted(b, { request: request(1, 40), prefill: small });
      held.onRouted(routed);
      held.onFirstToken(routed);
      for (const number of [2, 3, 4]) send(held, request(number, 30))();
      expect(matched(held, request(1, 40), small)).toBe(10);
      expect(matched(held, request(1, 40), b)).toBe(40);
      held.onDone(routed, NOW, 'completed', undefined);
    });

    it('[D161] keeps the whole body that is read after the pick, once', () => {
      const held = index([small], true);
      const routed = makeRouted(small, { request: request(1, 0) });
      held.onRouted(routed);
      held.onBodyRead(routed, request(1, 60));
      held.onBodyRead(routed, request(1, 60));
      for (const number of [2, 3]) send(held, request(number, 40))();
      expect(matched(held, request(1, 60), small)).toBe(60);
      held.onDone(routed, NOW, 'completed', undefined);
      send(held, request(4, 100))();
      expect(matched(held, request(4, 100), small)).toBe(100);
    });

    it('[D161] ends requests of a cache that was lost, and of an endpoint that has left, without harm', () => {
      const held = index([small], true);
      const [lost, left] = [send(held, request(1, 60)), send(held, request(2, 40))];
      held.forget(small);
      const end = send(held, request(1, 60));
      lost();
      send(held, request(3, 60))();
      expect(matched(held, request(1, 60), small)).toBe(60);
      held.onEndpointRemoved(small);
      left();
      end();
      expect(held.size(small)).toBe(0);
    });
  });
});
