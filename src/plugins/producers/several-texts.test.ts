import { describe, expect, test } from 'vitest';
import { makePool, makeRequest, makeRouted, NOW } from '../../../test/makers.ts';
import { promptOf } from '../../../test/prompt-blocks.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { type ApproxPrefixConfig, UNLIMITED_APPROX_CONFIG } from './approx-prefix-config.ts';
import { ApproxPrefixIndex } from './approx-prefix-index.ts';
import { SentPrefixIndex } from './sent-prefix-index.ts';

/** What all texts of a benchmark begin with. */
const EXAMPLES = Array.from({ length: 10 }, (_, id) => id);
const question = (...ids: readonly number[]): PromptBlocks => promptOf(...EXAMPLES, ...ids);

function asking(...texts: readonly PromptBlocks[]): InferenceRequest {
  const [first = promptOf(), ...others] = texts;
  return makeRequest({ promptTokens: 10_000, prompt: { ...first, others } });
}

describe.each<[string, (config: ApproxPrefixConfig) => ApproxPrefixIndex | SentPrefixIndex]>([
  ['the index of the default policy', (config) => new ApproxPrefixIndex(config, 'p')],
  ['the reference’s index', (config) => new SentPrefixIndex(config, 'p', new SimulatedClock())],
])('%s', (_name, create) => {
  const [a, b] = makePool([{}, {}]) as readonly [Endpoint, Endpoint];

  function started(config: Partial<ApproxPrefixConfig> = {}) {
    const index = create({ ...UNLIMITED_APPROX_CONFIG, ...config });
    for (const endpoint of [a, b]) index.onEndpointAdded(endpoint);
    const match = (request: InferenceRequest): readonly number[] => {
      const { totalBlocks, matchedBlocks, mostBlocks } = index.match(request);
      return [totalBlocks, matchedBlocks(a), matchedBlocks(b), mostBlocks?.() ?? -1];
    };
    return { index, match };
  }

  test('[D471] adds up what an endpoint holds of each text from its beginning', () => {
    const { index, match } = started();
    index.onRouted(makeRouted(a, { request: asking(question(100, 101), question(102)) }));
    // 10 + 2 of the first, 10 of the second, 10 + 1 of the third.
    const asked = asking(question(100, 101, 103), question(104), question(102));
    expect(match(asked)).toEqual([35, 33, 0, 33]);
    expect(match(asking(promptOf(500), question(102)))).toEqual([12, 11, 0, 11]);
  });

  test('[D471] finds a text alone that was sent behind others, and holds once what they share', () => {
    const { index, match } = started();
    index.onRouted(makeRouted(b, { request: asking(promptOf(), question(100), question(101)) }));
    expect(match(makeRequest({ prompt: question(101) }))).toEqual([11, 0, 11, 11]);
    expect(index.size(b)).toBe(12);
  });

  test('gives the blocks of no endpoint but those that it has', () => {
    const { index } = started();
    const [, , other] = makePool([{}, {}, {}]) as readonly [Endpoint, Endpoint, Endpoint];
    index.onRouted(makeRouted(a, { request: makeRequest({ prompt: question(100) }) }));
    index.addOlderBlocks(other, index.heldBlocks(a, 11));
    expect([a, b, other].map((each) => index.heldBlocks(each, 11).length > 0)).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('[D471] matches of each text no more than the bound', () => {
    const { index, match } = started({ maxPrefixTokensToMatch: 128 });
    index.onRouted(makeRouted(a, { request: asking(question(100), question(101)) }));
    expect(match(asking(question(100), question(101), question(102)))).toEqual([6, 6, 0, 6]);
  });
});

test('[D471] with keepInFlight no text of a request is forgotten before its end, and all may be then', () => {
  const attributes = [[CACHE_CONFIG, { blockTokens: 64, blocks: 30 }]] as never;
  const [small] = makePool([{ attributes }]) as readonly [Endpoint];
  const index = new ApproxPrefixIndex({ ...UNLIMITED_APPROX_CONFIG, keepInFlight: true }, 'p');
  index.onEndpointAdded(small);
  const routed = makeRouted(small, { request: asking(question(100), question(101)) });
  index.onRouted(routed);
  const crowd = (from: number): void => {
    const ids = Array.from({ length: 30 }, (_, id) => from + id);
    const crowding = makeRouted(small, { request: makeRequest({ prompt: promptOf(...ids) }) });
    index.onRouted(crowding);
    index.onDone(crowding, NOW, 'completed', undefined);
  };
  crowd(1000);
  expect(index.match(routed.request).matchedBlocks(small)).toBe(22);
  index.onDone(routed, NOW, 'completed', undefined);
  crowd(2000);
  expect(index.match(routed.request).matchedBlocks(small)).toBe(0);
});
