import { describe, expect, it } from 'vitest';
import { scorers } from '../../scorers/index.ts';
import { catalogueOf } from '../../src/catalogue/built-in-catalogue.ts';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import { CACHE_CONFIG } from '../../src/framework/keys.ts';
import type { Filter } from '../../src/framework/scheduling.ts';
import { createOpenBody } from '../../src/openai/parsers/open-body.ts';
import {
  ApproxPrefixIndex,
  approxPrefixProducer,
} from '../../src/plugins/producers/approx-prefix-producer.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeContext, makePool, makeRequest, makeRouted, makeRuntime, NOW } from '../makers.ts';
import { DECIDER_TABLE, FILTER_TABLES, type FilterTable } from './plugin-tables.ts';

const SEEDS = 80;
const CATALOGUE = catalogueOf(scorers, []);

function kept(table: FilterTable): readonly number[] {
  const { filter: type, parameters = {}, requests = [], tokens = [], endpoints } = table;
  const { filters } = CATALOGUE;
  const definition = [...filters, ...scorers].find((each) => each.type === type);
  const made = definition?.create(definition.config.parse(parameters), makeRuntime());
  const context = makeContext({
    request: makeRequest({ promptTokens: table.promptTokens ?? 640 }),
    load: endpoints.map((_endpoint, at) => ({
      requests: requests[at] ?? 0,
      pendingPrefillTokens: tokens[at] ?? 0,
    })),
    matchedBlocks: table.matched ?? [],
  });
  const left = (made as Filter | undefined)?.filter(makePool(endpoints), context) ?? [];
  return left.map(({ slot }) => slot);
}

describe("the reference's filters, deciders and pickers", () => {
  it.each(FILTER_TABLES(NOW).map((table) => [table.filter, table.what, table] as const))(
    '[D130] %s: %s',
    (_filter, _what, table) => {
      expect(kept(table)).toEqual(table.kept);
    },
  );

  it('[D130] prefix-based-pd-decider: by the tokens that the decoder would have to compute', () => {
    const definition = CATALOGUE.deciders.find(({ type }) => type === 'prefix-based-pd-decider');
    const [decode] = makePool([{}]) as readonly [Endpoint];
    const said = DECIDER_TABLE.map(([parameters, promptTokens, matched]) => {
      const request = makeRequest({ promptTokens });
      const context = makeContext({ request, matchedBlocks: [matched] });
      const decider = definition?.create(definition.config.parse(parameters), makeRuntime());
      return decider?.separates(decode, context);
    });
    expect(said).toEqual(DECIDER_TABLE.map(([, , , separates]) => separates));
  });

  it.each([
    ['max-score-picker', ['2,1,0', '2,0,1']],
    ['random-picker', ['0,1,2', '0,2,1', '1,0,2', '1,2,0', '2,0,1', '2,1,0']],
    ['weighted-random-picker', ['2,0,1', '2,1,0', '0,2,1', '0,1,2', '1,0,2', '1,2,0']],
  ])('[D130] %s: ties fall at random, and fallbacks follow', (type, orders) => {
    const definition = CATALOGUE.pickers.find((each) => each.type === type);
    const picker = definition?.create(
      definition.config.parse({ maxNumOfEndpoints: 9 }),
      makeRuntime(),
    );
    const candidates = makePool([{}, {}, {}]).map((endpoint) => ({
      endpoint,
      score: endpoint.slot === 2 ? 3 : 2,
    }));
    const found = new Set<string>();
    for (let seed = 0; seed < SEEDS; seed++) {
      const context = makeContext({ random: seededRandom(seed) });
      const picked = picker?.pick(candidates, context) ?? [];
      found.add(picked.map(({ endpoint }) => endpoint.slot).join());
    }
    expect(found).toEqual(new Set(orders));
  });
});

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
    const index = new ApproxPrefixIndex(
      approxPrefixProducer.config.parse(parameters) as never,
      'p',
    );
    index.onEndpointAdded(a);
    index.onRouted(makeRouted(a, { request: prompt(text(14 * 256)) }));
    const { totalBlocks, matchedBlocks } = index.match(prompt(text(20 * 256)), [a]);
    expect([matchedBlocks(a), totalBlocks]).toEqual(wanted);
    const same = index.match(prompt(text(14 * 256)), [a]);
    expect(same.matchedBlocks(a)).toBe(same.totalBlocks);
  });
});

function indexed(parameters: object = {}) {
  const [a, b] = makePool([{}, {}]) as readonly [Endpoint, Endpoint];
  const parsed = approxPrefixProducer.config.parse(parameters);
  const index = new ApproxPrefixIndex(parsed as never, 'p');
  for (const endpoint of [a, b]) index.onEndpointAdded(endpoint);
  return { index, a, b, match: (request: ReturnType<typeof prompt>) => index.match(request) };
}
