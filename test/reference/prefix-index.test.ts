import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import { CACHE_CONFIG } from '../../src/framework/endpoint-attributes.ts';
import type { DataSource } from '../../src/framework/plugin.ts';
import { createOpenBody } from '../../src/openai/parsers/open-body.ts';
import type { ApproxPrefixConfig } from '../../src/plugins/producers/approx-prefix-config.ts';
import { ApproxPrefixIndex } from '../../src/plugins/producers/approx-prefix-index.ts';
import { approxPrefixProducer } from '../../src/plugins/producers/approx-prefix-producers.ts';
import { SentPrefixIndex } from '../../src/plugins/producers/sent-prefix-index.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { makePool, makeRouted } from '../makers.ts';

const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 7 });

function prompt(text: string, { model = 'm', salt = undefined as string | undefined } = {}) {
  const reader = openBody({ id: 'r', path: '/v1/completions', headers: new Map() });
  reader.push(new TextEncoder().encode(JSON.stringify({ model, prompt: text, cache_salt: salt })));
  return reader.end();
}

/** Text of so many bytes; texts of one letter begin alike. */
const text = (bytes: number, letter = 'a'): string => letter.repeat(bytes);

describe("the reference's prefix index", () => {
  it.each([
    ['four characters a token, 64 tokens a block', text(1024), text(1024), 4],
    ['a last block that is not whole counts where it is the same', text(1023), text(1023), 4],
    ['a last block that has become longer does not', text(1023), text(1024), 3],
    ['a prompt shorter than a block', text(20), text(20), 1],
    ['up to the block that differs', `${text(600)}x${text(423)}`, text(1024), 2],
    ['nothing from the first character on', `x${text(1023)}`, text(1024), 0],
  ])('[D131] %s', (_what, sent, asked, matched) => {
    const { index, a, match } = indexed();
    index.onRouted(makeRouted(a, { request: prompt(sent) }));
    expect(match(prompt(asked)).matchedBlocks(a)).toBe(matched);
  });

  it('[D131] keeps models, salts and endpoints apart, and learns where the prompt is computed', () => {
    const { index, a, b, match } = indexed();
    const request = prompt(text(1024));
    index.onRouted(makeRouted(a, { request, prefill: b }));
    const found = (fields: Parameters<typeof prompt>[1]) =>
      match(prompt(text(1024), fields)).matchedBlocks(b);
    expect([found({}), found({ model: 'other' }), found({ salt: 's' })]).toEqual([4, 0, 0]);
  });

  it('[D131] forgets what was used least recently, beyond the capacity', () => {
    const { index, a, match } = indexed({ autoTune: false, lruCapacityPerServer: 8 });
    const [x, y, z] = ['x', 'y', 'z'].map((letter) => prompt(text(1024, letter)));
    for (const request of [x, y, x, z]) {
      if (request !== undefined) index.onRouted(makeRouted(a, { request }));
    }
    const held = [x, y, z].map((request) => request && match(request).matchedBlocks(a));
    expect(held).toEqual([4, 0, 4]);
  });

  it('[D131] matches no more than the bound, and counts no more as the prompt', () => {
    const { index, a, match } = indexed({ maxPrefixTokensToMatch: 128 });
    const request = prompt(text(1024));
    index.onRouted(makeRouted(a, { request }));
    const { matchedBlocks, totalBlocks } = match(request);
    expect([matchedBlocks(a), totalBlocks]).toEqual([2, 2]);
  });

  it.each([
    ['without parameters', {}, 2048],
    [
      'whose bound in blocks does not count beside the usual one in tokens',
      { maxPrefixBlocksToMatch: 3 },
      2048,
    ],
    ['without a bound in tokens', { maxPrefixTokensToMatch: 0, maxPrefixBlocksToMatch: 3 }, 3],
    ['without bounds', { maxPrefixTokensToMatch: 0, maxPrefixBlocksToMatch: 0 }, 2100],
    ['that follows engines', { keepInFlight: true }, 2100],
  ])('[G161] compares the first 131,072 tokens at most: %s', (_what, parameters, blocks) => {
    const { match } = indexed(parameters);
    expect(match(prompt(text(2100 * 256))).totalBlocks).toBe(blocks);
  });

  it('[G160] counts a last block that is not whole, unless it follows engines', () => {
    const totals = [{}, { keepInFlight: true }].map((parameters) => {
      const { index, a, match } = indexed(parameters);
      const request = prompt(text(300));
      index.onRouted(makeRouted(a, { request }));
      const { totalBlocks, matchedBlocks } = match(request);
      return [totalBlocks, matchedBlocks(a)];
    });
    expect(totals).toEqual([
      [2, 2],
      [1, 1],
    ]);
  });

  it('[G160] does not take a prompt that was read in part for one that ends there', () => {
    const reader = openBody({ id: 'r', path: '/v1/completions', headers: new Map() });
    reader.push(new TextEncoder().encode(`{"model":"m","prompt":"${text(300)}`));
    expect(reader.peek().prompt.hasRest).toBeUndefined();
    reader.push(new TextEncoder().encode('"}'));
    expect(reader.peek().prompt).toEqual(reader.end().prompt);
  });

  it.each([
    ['the first candidate reports 256', {}, 256, [3, 5]],
    ['it reports 16, and 64 are the least', {}, 16, [14, 20]],
    ['the configuration says 128', { autoTune: false, blockSizeTokens: 128 }, 16, [7, 10]],
    ['by its older name', { autoTune: false, blockSize: 128 }, 16, [7, 10]],
  ])('[G162] counts in blocks of the size that %s', (_what, parameters, blockTokens, wanted) => {
    const [a] = makePool([
      { attributes: [[CACHE_CONFIG as never, { blockTokens, blocks: 10_000 }]] },
    ]) as readonly [Endpoint];
    const parsed = approxPrefixProducer.config.parse(parameters);
    const index = new SentPrefixIndex(parsed as never, 'p', new SimulatedClock());
    index.onEndpointAdded(a);
    index.onRouted(makeRouted(a, { request: prompt(text(14 * 256)) }));
    const { totalBlocks, matchedBlocks } = index.match(prompt(text(20 * 256)), [a]);
    expect([matchedBlocks(a), totalBlocks]).toEqual(wanted);
    const same = index.match(prompt(text(14 * 256)), [a]);
    expect(same.matchedBlocks(a)).toBe(same.totalBlocks);
  });

  it('[D280] forgets the first block of a prompt first, and counts blocks behind the gap', () => {
    const { index, a, b, match } = indexed({ autoTune: false, lruCapacityPerServer: 6 });
    const [x, y] = ['x', 'y'].map((letter) => prompt(text(1024, letter))) as [Sent, Sent];
    for (const request of [x, y]) index.onRouted(makeRouted(a, { request }));
    // The first two of x's four blocks are gone, and no other endpoint has them.
    expect(match(x).matchedBlocks(a)).toBe(0);
    index.onRouted(makeRouted(b, { request: x }));
    expect([match(x).matchedBlocks(a), match(x).matchedBlocks(b)]).toEqual([2, 4]);
  });

  it('[D280] has room for as many blocks as the engine has, however small those are', () => {
    const [a] = makePool([
      { attributes: [[CACHE_CONFIG as never, { blockTokens: 16, blocks: 8 }]] },
    ]) as readonly [Endpoint];
    const index = makeIndex(approxPrefixProducer.config.parse({}) as ApproxPrefixConfig);
    index.onEndpointAdded(a);
    index.onRouted(makeRouted(a, { request: prompt(text(20 * 256)) }));
    expect(index.size(a)).toBe(8);
  });

  it('[D280] learns when a request is sent, whatever its answer is and however it ends', () => {
    const index: DataSource = makeIndex(approxPrefixProducer.config.parse({}) as never);
    expect([index.onAnswered, index.onDone, index.onFirstToken]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it.each([
    ['within two minutes', 119_999, 4],
    ['later', 120_000, 0],
  ])('[D280] an endpoint that comes back %s has what it had, or nothing', (_when, ms, blocks) => {
    const clock = new SimulatedClock();
    const [a] = makePool([{}]) as readonly [Endpoint];
    const parsed = approxPrefixProducer.config.parse({}) as ApproxPrefixConfig;
    const index = new SentPrefixIndex(parsed, 'p', clock);
    index.onEndpointAdded(a);
    index.onRouted(makeRouted(a, { request: prompt(text(1024)) }));
    index.onEndpointRemoved(a);
    clock.advanceTo(clock.now() + ms);
    index.onEndpointAdded({ ...a, slot: 1 } as Endpoint);
    expect(index.match(prompt(text(1024))).matchedBlocks({ ...a, slot: 1 } as Endpoint)).toBe(
      blocks,
    );
  });

  it('[G175] forgets an endpoint that is gone bit by bit, and takes nothing over from it', () => {
    const clock = new SimulatedClock();
    const [a, b] = makePool([{}, {}]) as readonly [Endpoint, Endpoint];
    const parsed = approxPrefixProducer.config.parse({}) as ApproxPrefixConfig;
    const index = new SentPrefixIndex(parsed, 'p', clock);
    index.onEndpointAdded(a);
    const long = prompt(text(2000 * 256));
    index.onRouted(makeRouted(a, { request: long }));
    index.onEndpointRemoved(a);
    clock.advanceTo(clock.now() + 120_000);
    index.onEndpointAdded(b);
    // 2,000 blocks are gone after two requests: then another endpoint may have its number.
    for (const at of [0, 1]) {
      index.onRouted(makeRouted(b, { request: prompt(text(300, `${at}`)) }));
      expect([index.match(long).matchedBlocks(b), index.size(b)]).toEqual([0, 2 * at + 2]);
    }
    index.onEndpointAdded({ ...a, slot: 2 } as Endpoint);
    expect(index.match(long).matchedBlocks({ ...a, slot: 2 } as Endpoint)).toBe(0);
  });

  it('[D280] counts in the unit in which the engine finds prefixes, where it reports one', () => {
    const cache = { blockTokens: 1024, blocks: 100, matchTokens: 128 };
    const [a] = makePool([{ attributes: [[CACHE_CONFIG as never, cache]] }]) as readonly [Endpoint];
    const index = makeIndex(approxPrefixProducer.config.parse({}) as ApproxPrefixConfig);
    index.onEndpointAdded(a);
    expect((index as SentPrefixIndex).match(prompt(text(2048)), [a]).totalBlocks).toBe(4);
  });
});

type Sent = ReturnType<typeof prompt>;

function indexed(parameters: object = {}) {
  const [a, b] = makePool([{}, {}]) as readonly [Endpoint, Endpoint];
  const parsed = approxPrefixProducer.config.parse(parameters);
  const index = makeIndex(parsed as ApproxPrefixConfig);
  for (const endpoint of [a, b]) index.onEndpointAdded(endpoint);
  return { index, a, b, match: (request: ReturnType<typeof prompt>) => index.match(request) };
}

function makeIndex(parsed: ApproxPrefixConfig): ApproxPrefixIndex | SentPrefixIndex {
  return parsed.keepInFlight
    ? new ApproxPrefixIndex(parsed, 'p')
    : new SentPrefixIndex(parsed, 'p', new SimulatedClock());
}
