import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../test/makers.ts';
import { tokenLoad } from './token-load.ts';

const request = makeRequest({ promptTokens: 640 });

describe('token-load-scorer', () => {
  it('adds what the request itself must compute to what waits there', () => {
    const scorer = tokenLoad.create(
      tokenLoad.config.parse({ queueThresholdTokens: 1280 }),
      makeRuntime(),
    );
    const context = makeContext({
      request,
      load: [{}, {}, { pendingPrefillTokens: 320 }, { pendingPrefillTokens: 9999 }],
      matchedBlocks: [0, 10, 5, 0],
    });
    expect(scorer.score(makePool([{}, {}, {}, {}]), context)).toEqual([0.5, 1, 0.5, 0]);
  });

  it('[D327] counts estimated answers, its own at most as long as the client allows', () => {
    const parameters = { queueThresholdTokens: 1280, outputEstimate: { ratio: 0.5, max: 300 } };
    const scorer = tokenLoad.create(tokenLoad.config.parse(parameters), makeRuntime());
    const load = [{}, { countedTokens: 320, pendingPrefillTokens: 10 }];
    const score = (outputTokensMax: number | undefined) => {
      const asked = makeRequest({ promptTokens: 640, outputTokensMax });
      return scorer.score(makePool([{}, {}]), makeContext({ request: asked, load }));
    };
    expect(score(undefined)).toEqual([1 - 940 / 1280, 1 - 1260 / 1280]);
    expect(score(0)).toEqual([0.5, 0.25]);
  });

  it('reaches nothing at four million tokens unless configured otherwise', () => {
    const scorer = tokenLoad.create(tokenLoad.config.parse({}), makeRuntime());
    const context = makeContext({
      request: makeRequest({ promptTokens: 0 }),
      load: [{ pendingPrefillTokens: 4_194_304 }, { pendingPrefillTokens: 1_048_576 }],
    });
    expect(scorer.score(makePool([{}, {}]), context)).toEqual([0, 0.75]);
    expect(tokenLoad.config.parse({ queueThresholdTokens: 0 })).toEqual(tokenLoad.config.parse({}));
  });
});
