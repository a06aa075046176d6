import { describe, expect, it } from 'vitest';
import { makePool, makeRequest, makeRouted } from '../../../test/makers.ts';
import {
  decodeStepMs,
  PRIOR_STEP_TIME,
  predictedTtftMs,
  prefillSteps,
} from '../../cost-model/step-time.ts';
import type { InFlightLoad } from '../../framework/cycle-facts.ts';
import type { AttributeKey, Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { EngineModel } from './engine-model.ts';

interface Truth {
  readonly perPrefillTokenMs: number;
  readonly stepFactor: number;
  readonly overheadMs: number;
  /** The time of attention within a prompt; 0 by default. */
  readonly perSquaredTokenMs?: number;
  /** 4,000 by default. */
  readonly promptTokensMax?: number;
}

/**
 * Reports `answers` first tokens of each endpoint to a model, as engines with these figures would
 * give them.
 */
function teach(
  model: EngineModel,
  pool: readonly Endpoint[],
  truths: readonly Truth[],
  answers: number,
  loadTimes = 1,
): void {
  const random = seededRandom(5);
  for (let n = 0; n < answers; n++) {
    pool.forEach((endpoint, index) => {
      const truth = truths[index];
      if (truth === undefined) return;
      const { perSquaredTokenMs = 0, promptTokensMax = 4000 } = truth;
      const promptTokens = Math.round(50 + promptTokensMax * random.next());
      const load = {
        requests: Math.floor(60 * random.next()),
        pendingPrefillTokens: Math.floor(3000 * random.next()),
        contextTokens: Math.floor(90_000 * random.next()),
      };
      const ttftMs =
        truth.overheadMs +
        truth.perPrefillTokenMs * (load.pendingPrefillTokens + promptTokens) +
        perSquaredTokenMs * promptTokens ** 2 +
        truth.stepFactor *
          prefillSteps(load.pendingPrefillTokens + promptTokens, PRIOR_STEP_TIME) *
          decodeStepMs(load.requests, load.contextTokens);
      const request = makeRequest({ promptTokens });
      const routed = makeRouted(endpoint, { request, load: timesOf(load, loadTimes) });
      model.onFirstToken(routed, routed.at + ttftMs * (0.9 + 0.2 * random.next()));
    });
  }
}

function timesOf(load: InFlightLoad, times: number): InFlightLoad {
  return {
    requests: times * load.requests,
    pendingPrefillTokens: times * load.pendingPrefillTokens,
    contextTokens: times * load.contextTokens,
  };
}

const H100: Truth = { perPrefillTokenMs: 0.02, stepFactor: 1.2, overheadMs: 15 };

describe('EngineModel', () => {
  it('starts from the prior', () => {
    const [endpoint] = makePool([{}]);
    if (endpoint === undefined) throw new Error('no endpoint');
    expect(new EngineModel().stepTime(endpoint)).toEqual(PRIOR_STEP_TIME);
  });

  it('[Q382] finds slow endpoints within a few first tokens where no other prompt was pending', () => {
    const pool = makePool([{}, {}, {}, {}]);
    const random = seededRandom(5);
    const model = new EngineModel();
    for (let n = 0; n < 4; n++) {
      pool.forEach((endpoint, index) => {
        const promptTokens = Math.round(500 + 4000 * random.next());
        const prompt = { promptTokens, uncachedTokens: promptTokens };
        const idle = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
        const ttftMs = (index < 2 ? 1 : 3) * predictedTtftMs(idle, prompt);
        const routed = makeRouted(endpoint, { request: makeRequest({ promptTokens }), load: idle });
        model.onFirstToken(routed, routed.at + ttftMs * (0.9 + 0.2 * random.next()));
      });
    }
    const [fast, , slow] = pool.map((endpoint) => model.stepTime(endpoint).perPrefillTokenMs);
    expect((slow ?? 0) / (fast ?? 0)).toBeGreaterThan(2);
  });

  it('predicts first tokens within a tenth after some hundred of them', () => {
    const pool = makePool([{}, {}, {}]);
    const model = new EngineModel();
    teach(model, pool, [H100, H100, H100], 100);
    const load = { requests: 20, pendingPrefillTokens: 1000, contextTokens: 30_000 };
    const prompt = { promptTokens: 2000, uncachedTokens: 2000 };
    for (const endpoint of pool) {
      const predicted = predictedTtftMs(load, prompt, model.stepTime(endpoint));
      const truth = 15 + 0.02 * 3000 + 1.2 * decodeStepMs(20, 30_000);
      expect(Math.abs(predicted / truth - 1)).toBeLessThan(0.1);
    }
  });

  it('[Q388] learns how long steps are where first tokens wait for the one under way', () => {
    const [endpoint] = makePool([{}]);
    if (endpoint === undefined) throw new Error('no endpoint');
    const [model, random] = [new EngineModel(), seededRandom(5)];
    const stepMs = 30;
    // One answer goes on, so that a step ends each 30 ms; each prompt comes in the next one.
    let endsAt = 0;
    for (let n = 0; n < 200; n++) {
      const at = endsAt + stepMs * random.next();
      const promptTokens = Math.round(50 + 500 * random.next());
      const load = { requests: 1, pendingPrefillTokens: 0, contextTokens: 0 };
      const routed = makeRouted(endpoint, { at, load, request: makeRequest({ promptTokens }) });
      model.onRouted(routed);
      endsAt += 2 * stepMs + 0.05 * promptTokens;
      model.onFirstToken(routed, endsAt);
    }
    const { baseMs, overheadMs, perPrefillTokenMs } = model.stepTime(endpoint);
    expect(Math.abs(baseMs - stepMs)).toBeLessThan(3);
    expect(overheadMs).toBeLessThan(5);
    expect(perPrefillTokenMs).toBeCloseTo(0.05, 2);
  });

  it('[Q181] learns what attention within long prompts takes, and predicts with it', () => {
    const pool = makePool([{}, {}, {}]);
    const model = new EngineModel();
    const long: Truth = { ...H100, perSquaredTokenMs: 1.7e-6, promptTokensMax: 32_000 };
    teach(model, pool, [long, long, long], 100);
    const load = { requests: 20, pendingPrefillTokens: 1000, contextTokens: 30_000 };
    for (const promptTokens of [2000, 8000, 24_000]) {
      const prompt = { promptTokens, uncachedTokens: promptTokens };
      const steps = prefillSteps(1000 + promptTokens, PRIOR_STEP_TIME);
      const truth =
        15 +
        0.02 * (1000 + promptTokens) +
        1.7e-6 * promptTokens ** 2 +
        1.2 * steps * decodeStepMs(20, 30_000);
      for (const endpoint of pool) {
        const predicted = predictedTtftMs(load, prompt, model.stepTime(endpoint));
        expect(Math.abs(predicted / truth - 1)).toBeLessThan(0.1);
      }
    }
  });

  it('[Q317] learns of an endpoint with several engines how fast each is, and its part of the demand', () => {
    const many = makePool([{ attributes: [[ENGINE_COUNT as AttributeKey<never>, 8]] }]);
    const single = makePool([{}]);
    const [ofMany, ofSingle] = [new EngineModel(), new EngineModel()];
    teach(ofMany, many, [H100], 100, 8);
    teach(ofSingle, single, [H100], 100);
    const [each, one] = [many[0] as Endpoint, single[0] as Endpoint];
    expect(ofMany.stepTime(each)).toEqual(ofSingle.stepTime(one));
    for (let n = 0; n < 8; n++) ofMany.onRouted(makeRouted(each, {}));
    ofSingle.onRouted(makeRouted(one, {}));
    expect(ofMany.demand(each).requests).toBeCloseTo(ofSingle.demand(one).requests, 9);
    expect(ofMany.demand(each).workMs).toBeCloseTo(ofSingle.demand(one).workMs, 9);
  });

  it('separates a slow accelerator from a fast one in the same pool', () => {
    const pool = makePool([{}, {}, {}, {}]);
    const model = new EngineModel();
    const slow: Truth = { perPrefillTokenMs: 0.06, stepFactor: 3.6, overheadMs: 15 };
    teach(model, pool, [H100, H100, slow, slow], 150);
    const [fast, , slowOne] = pool.map((endpoint) => model.stepTime(endpoint).perPrefillTokenMs);
    expect((slowOne ?? 0) / (fast ?? 1)).toBeGreaterThan(2.3);
    expect((slowOne ?? 0) / (fast ?? 1)).toBeLessThan(3.6);
  });

  it('learns the same whether or not it is read meanwhile', () => {
    const pool = makePool([{}, {}, {}]);
    const slow: Truth = { perPrefillTokenMs: 0.06, stepFactor: 3.6, overheadMs: 15 };
    const [asked, left] = [new EngineModel(), new EngineModel()];
    for (let n = 0; n < 113; n++) {
      teach(asked, pool, [H100, H100, slow], 1);
      for (const endpoint of pool.slice(n % 3)) asked.stepTime(endpoint);
      teach(left, pool, [H100, H100, slow], 1);
    }
    for (const endpoint of pool) {
      expect(asked.stepTime(endpoint)).toEqual(left.stepTime(endpoint));
    }
  });

  it('learns nothing of speed from a request that had to wait for memory', () => {
    const [endpoint] = makePool([
      { attributes: [[CACHE_CONFIG as AttributeKey<never>, { blocks: 100, blockTokens: 16 }]] },
    ]);
    if (endpoint === undefined) throw new Error('no endpoint');
    const model = new EngineModel();
    const load = { requests: 4, pendingPrefillTokens: 0, contextTokens: 1500 };
    model.onFirstToken(makeRouted(endpoint, { load }), 1e6);
    expect(model.stepTime(endpoint)).toEqual(PRIOR_STEP_TIME);
  });

  it('measures the demand on an endpoint: prompts at its speed, and the time that answers add', () => {
    const [endpoint, other] = makePool([{}, {}]);
    if (endpoint === undefined || other === undefined) throw new Error('no endpoint');
    const model = new EngineModel();
    // 1,000 tokens at 0.04 ms and 10 answered at 0.05 ms and some context: 40.7 ms of work every
    // 100 ms.
    const request = makeRequest({ promptTokens: 1000, outputTokensMax: 10 });
    for (let at = 0; at < 300_000; at += 100) model.onRouted(makeRouted(endpoint, { request, at }));
    const rate = model.demandRate(300_000);
    expect(rate * model.demand(endpoint).requests).toBeCloseTo(0.01, 3);
    expect(rate * model.demand(endpoint).workMs).toBeCloseTo(0.407, 2);
    expect(model.demand(other)).toEqual({ requests: 0, workMs: 0 });
    model.onEndpointRemoved(endpoint);
    expect(model.demand(endpoint).requests).toBe(0);
  });

  it('counts a prompt that is computed elsewhere there, and its answer at the decoder', () => {
    const [decode, prefill] = makePool([{}, {}]);
    if (decode === undefined || prefill === undefined) throw new Error('no endpoint');
    const model = new EngineModel();
    const request = makeRequest({ promptTokens: 1000, outputTokensMax: 10 });
    model.onRouted(makeRouted(decode, { request, prefill, at: 0 }));
    expect(model.demand(prefill)).toEqual({ requests: 1, workMs: 40 });
    expect(model.demand(decode).requests).toBe(1);
    expect(model.demand(decode).workMs).toBeCloseTo(0.701, 4);
  });

  it('[Q198] counts the demand of a prompt by what is cached where it is computed', () => {
    const [decode, prefill] = makePool([{}, {}]);
    if (decode === undefined || prefill === undefined) throw new Error('no endpoint');
    const model = new EngineModel();
    const request = makeRequest({ promptTokens: 1000, outputTokensMax: 10 });
    const cached = { cachedTokens: 1000, prefillCachedTokens: 200 };
    model.onRouted(makeRouted(decode, { request, prefill, ...cached, at: 0 }));
    expect(model.demand(prefill)).toEqual({ requests: 1, workMs: 32 });
  });

  it('stays finite and positive for any observations', () => {
    const [endpoint] = makePool([{}]);
    if (endpoint === undefined) throw new Error('no endpoint');
    const model = new EngineModel();
    const random = seededRandom(11);
    for (let n = 0; n < 3000; n++) {
      const routed = makeRouted(endpoint, {
        request: makeRequest({ promptTokens: Math.floor(1e6 * random.next() ** 8) }),
        cachedTokens: Math.floor(1e6 * random.next() ** 8),
      });
      model.onFirstToken(routed, routed.at + 1e7 * random.next() ** 20);
    }
    const { perPrefillTokenMs, perSquaredTokenMs, baseMs, overheadMs } = model.stepTime(endpoint);
    for (const value of [perPrefillTokenMs, baseMs]) expect(value).toBeGreaterThan(0);
    for (const value of [perPrefillTokenMs, perSquaredTokenMs, baseMs, overheadMs]) {
      expect(value).toBeGreaterThanOrEqual(0);
      expect(Number.isFinite(value)).toBe(true);
    }
  });

  it.each([0, 3_600_000, Number.MAX_SAFE_INTEGER])(
    '[V37] lets one first token after %d ms change no prediction by a third',
    (ttftMs) => {
      const pool = makePool([{}, {}, {}, {}]);
      const model = new EngineModel();
      teach(model, pool, [H100, H100, H100, H100], 100);
      const load = { requests: 20, pendingPrefillTokens: 1000, contextTokens: 30_000 };
      const prompt = { promptTokens: 1000, uncachedTokens: 1000 };
      const predicted = (): readonly number[] =>
        pool.map((endpoint) => predictedTtftMs(load, prompt, model.stepTime(endpoint)));
      const before = predicted();
      const [first] = pool;
      if (first === undefined) throw new Error('no endpoint');
      const routed = makeRouted(first, { request: makeRequest({ promptTokens: 1000 }), load });
      model.onFirstToken(routed, routed.at + ttftMs);
      predicted().forEach((after, at) => {
        expect(after / (before[at] ?? 0)).toBeGreaterThan(2 / 3);
        expect(after / (before[at] ?? 0)).toBeLessThan(4 / 3);
      });
    },
  );
});
