import { describe, expect, it } from 'vitest';
import { makePool, makeRequest, makeRouted } from '../../../test/makers.ts';
import { decodeStepMs, PRIOR_STEP_TIME, predictedTtftMs } from '../../cost-model/step-time.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Outcome, Routed, Usage } from '../../framework/observer.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { EngineModel } from './engine-model.ts';

/** How the answers of a test come. */
interface Answers {
  readonly fields?: Partial<Routed>;
  readonly outcome?: Outcome;
  readonly usage?: (usage: Usage) => Usage | undefined;
  /** The share whose first token is seen. */
  readonly seenShare?: number;
}

/** Ends `answers` requests at each endpoint, which takes so many times as long as the prior says. */
function teach(
  model: EngineModel,
  times: readonly (readonly [Endpoint, number])[],
  answers: number,
  { fields, outcome = 'completed', usage = (all) => all, seenShare = 0 }: Answers = {},
): void {
  const random = seededRandom(7);
  for (let n = 0; n < answers; n++) {
    for (const [endpoint, slowness] of times) {
      const promptTokens = Math.round(50 + 4000 * random.next());
      const completionTokens = Math.round(20 + 400 * random.next());
      const load = {
        requests: Math.floor(60 * random.next()),
        pendingPrefillTokens: Math.floor(3000 * random.next()),
        contextTokens: Math.floor(90_000 * random.next()),
      };
      const firstTokenVisible = random.next() < seenShare;
      const request = makeRequest({ promptTokens });
      const routed = makeRouted(endpoint, { request, load, firstTokenVisible, ...fields });
      const prompt = { promptTokens, uncachedTokens: promptTokens };
      const firstMs = slowness * predictedTtftMs(load, prompt);
      const stepMs = slowness * decodeStepMs(load.requests, load.contextTokens);
      const endMs = firstMs + (completionTokens - 1) * stepMs;
      const chance = 0.8 + 0.4 * random.next();
      if (firstTokenVisible) model.onFirstToken(routed, routed.at + chance * firstMs);
      const reported = usage({ promptTokens, completionTokens, cachedTokens: 0 });
      model.onDone(routed, routed.at + chance * endMs, outcome, reported);
    }
  }
}

const [a, b, c, d] = makePool([{}, {}, {}, {}]) as readonly [
  Endpoint,
  Endpoint,
  Endpoint,
  Endpoint,
];

describe('answers whose first token is not seen', () => {
  it.each([0, 0.3])(
    '[Q332] say which endpoints are slow, where %d of the first tokens are seen',
    (seenShare) => {
      const model = new EngineModel();
      teach(
        model,
        [
          [a, 2],
          [b, 2],
          [c, 6],
          [d, 6],
        ],
        150,
        { seenShare },
      );
      const ratioOf = (slow: Endpoint, fast: Endpoint): number =>
        model.stepTime(slow).perPrefillTokenMs / model.stepTime(fast).perPrefillTokenMs;
      for (const [slow, fast] of [
        [c, a],
        [d, b],
      ] as const) {
        expect(ratioOf(slow, fast)).toBeGreaterThan(2.6);
        expect(ratioOf(slow, fast)).toBeLessThan(3.4);
      }
    },
  );

  it('[Q332] say nothing of equal endpoints, and nothing of how fast the pool is', () => {
    const model = new EngineModel();
    teach(
      model,
      [
        [a, 3],
        [b, 3],
        [c, 3],
        [d, 3],
      ],
      150,
    );
    for (const endpoint of [a, b, c, d]) expect(model.stepTime(endpoint)).toEqual(PRIOR_STEP_TIME);
  });

  it.each<[string, Answers]>([
    ['whose first token was seen', { fields: { firstTokenVisible: true } }],
    ['that failed', { outcome: 'failed' }],
    ['without usage', { usage: () => undefined }],
    ['whose prompt was computed elsewhere', { fields: { prefill: d } }],
  ])('[Q332] do not count %s', (_, answers) => {
    const model = new EngineModel();
    teach(
      model,
      [
        [a, 1],
        [b, 4],
      ],
      100,
      answers,
    );
    for (const endpoint of [a, b]) expect(model.stepTime(endpoint)).toEqual(PRIOR_STEP_TIME);
  });

  it.each([1, 1e6])(
    '[Q332] change no ratio by a third where one of them claims %d tokens',
    (claimed) => {
      const model = new EngineModel();
      teach(
        model,
        [
          [a, 1],
          [b, 1],
          [c, 3],
          [d, 3],
        ],
        100,
      );
      const before = [a, b, c, d].map((each) => model.stepTime(each).baseMs);
      teach(model, [[a, 1]], 1, { usage: (usage) => ({ ...usage, completionTokens: claimed }) });
      for (let n = 0; n < 10; n++) teach(model, [[b, 1]], 1);
      [a, b, c, d].forEach((each, at) => {
        const change = model.stepTime(each).baseMs / (before[at] as number);
        expect(change).toBeGreaterThan(2 / 3);
        expect(change).toBeLessThan(4 / 3);
      });
    },
  );
});

describe('an answer that is whole with its first token', () => {
  /** Ends 100 answers of so many tokens at each endpoint; two of them take three times as long. */
  function taught(completionTokens: number, isSeen: boolean): EngineModel {
    const model = new EngineModel();
    const random = seededRandom(5);
    for (let n = 0; n < 400; n++) {
      const at = n % 4;
      const promptTokens = Math.round(50 + 2000 * random.next());
      const load = { requests: n % 7, pendingPrefillTokens: 100 * (n % 5), contextTokens: 900 };
      const request = makeRequest({ promptTokens, streaming: isSeen });
      const endpoint = [a, b, c, d][at] as Endpoint;
      const routed = makeRouted(endpoint, { request, load, firstTokenVisible: isSeen });
      const prompt = { promptTokens, uncachedTokens: promptTokens };
      const endsAt = routed.at + (at < 2 ? 2 : 6) * predictedTtftMs(load, prompt);
      const usage = { promptTokens, completionTokens, cachedTokens: undefined };
      if (isSeen) model.onFirstToken(routed, endsAt);
      model.onDone(routed, endsAt, 'completed', usage);
    }
    return model;
  }

  it.each([0, 1])(
    '[Q349] shows by its end what the first token would have shown, of its endpoint and of the pool: %i tokens',
    (tokens) => {
      const [unseen, seen] = [taught(tokens, false), taught(tokens, true)];
      for (const each of [a, b, c, d]) expect(unseen.stepTime(each)).toEqual(seen.stepTime(each));
      const ratio = unseen.stepTime(c).perPrefillTokenMs / unseen.stepTime(a).perPrefillTokenMs;
      expect(ratio).toBeGreaterThan(2.6);
      expect(ratio).toBeLessThan(3.4);
    },
  );

  it('[Q349] counts once where its first token was seen, too', () => {
    const model = new EngineModel();
    const routed = makeRouted(a, { firstTokenVisible: true });
    const usage = { promptTokens: 100, completionTokens: 1, cachedTokens: undefined };
    model.onDone(routed, routed.at + 5000, 'completed', usage);
    expect(model.stepTime(a)).toEqual(PRIOR_STEP_TIME);
  });
});
