import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PRIOR_STEP_TIME } from '../../src/cost-model/step-time.ts';
import { computeCost, emptyBreakdown } from './compute-cost.ts';
import type { EndpointState, RequestCost } from './cost-facts.ts';

const REQUEST: RequestCost = { promptTokens: 4000, outputTokens: 200, isCrowdedOut: false };
const STATE: EndpointState = {
  load: { requests: 5, pendingPrefillTokens: 1000, contextTokens: 20_000 },
  engine: PRIOR_STEP_TIME,
  traffic: { requestsPerMs: 0.002, utilization: 0.4 },
  computedMs: 0,
  step: { restMs: 0, tokens: 0, steps: 0, since: 0 },
  cachedTokens: 0,
  capacityTokens: 400_000,
  heldTokens: 30_000,
  heldByEach: 0,
  adapterMs: 0,
  slotMs: 0,
  suspectMs: 0,
  tooLongMs: 0,
  stale: false,
  requestsPerToken: () => 5 / 400_000,
};

const cost = (request: Partial<RequestCost>, state: Partial<EndpointState>): number =>
  computeCost({ ...REQUEST, ...request }, { ...STATE, ...state }, emptyBreakdown());

const tokens = fc.integer({ min: 0, max: 10_000_000 });
const states = fc.record({
  load: fc.record({
    requests: fc.integer({ min: 0, max: 5000 }),
    pendingPrefillTokens: tokens,
    contextTokens: tokens,
  }),
  traffic: fc.record({
    requestsPerMs: fc.double({ min: 0, max: 100, noNaN: true }),
    utilization: fc.double({ min: 0, max: 1e4, noNaN: true }),
  }),
  cachedTokens: tokens,
  heldTokens: tokens,
  capacityTokens: fc.integer({ min: 1, max: 10_000_000 }),
});

describe('what a request costs at a place', () => {
  it('[Q181] is that of a prompt with the attention within it', () => {
    const breakdown = emptyBreakdown();
    const prompt = { ...REQUEST, promptTokens: 40_000 };
    computeCost(prompt, { ...STATE, cachedTokens: 30_000 }, breakdown);
    expect(breakdown.ownPrefillMs).toBeCloseTo(0.04 * 10_000 + 5e-7 * (40_000 ** 2 - 30_000 ** 2));
    const linear = { ...PRIOR_STEP_TIME, perSquaredTokenMs: 0 };
    computeCost(prompt, { ...STATE, cachedTokens: 30_000, engine: linear }, breakdown);
    expect(breakdown.ownPrefillMs).toBeCloseTo(400);
  });

  it('[Q386] has what is left of the step under way in place of the prompts that are in it', () => {
    const breakdown = emptyBreakdown();
    const step = { restMs: 25, tokens: 600, steps: 1, since: 0 };
    computeCost(REQUEST, { ...STATE, step }, breakdown);
    expect(breakdown.stepUnderWayMs).toBe(25);
    expect(breakdown.queuedPrefillMs).toBeCloseTo(0.04 * 400);
  });

  it('is finite and above 0 wherever it goes, and no term is below 0', () => {
    fc.assert(
      fc.property(tokens, states, (promptTokens, state) => {
        const breakdown = emptyBreakdown();
        const total = computeCost({ ...REQUEST, promptTokens }, { ...STATE, ...state }, breakdown);
        expect(Number.isFinite(total)).toBe(true);
        expect(total).toBeGreaterThan(0);
        expect(Math.min(...Object.values(breakdown))).toBeGreaterThanOrEqual(0);
      }),
      { seed: 9 },
    );
  });

  it('is never less where less of it is cached, more waits, more has come of late, or memory is fuller', () => {
    fc.assert(
      fc.property(states, tokens, (state, more) => {
        const dearer: readonly Partial<EndpointState>[] = [
          { cachedTokens: Math.max(0, state.cachedTokens - more) },
          {
            load: {
              ...state.load,
              pendingPrefillTokens: state.load.pendingPrefillTokens + more,
            },
          },
          { traffic: { ...state.traffic, requestsPerMs: 2 * state.traffic.requestsPerMs } },
          { heldTokens: state.heldTokens + more },
        ];
        const here = cost({}, state);
        for (const each of dearer) {
          expect(cost({}, { ...state, ...each })).toBeGreaterThanOrEqual(here * (1 - 1e-9));
        }
      }),
      { seed: 9 },
    );
  });

  it('counts for those who come later all that waits: twice the backlog, about twice as much', () => {
    const delayMs = (pendingPrefillTokens: number): number => {
      const breakdown = emptyBreakdown();
      computeCost(REQUEST, { ...STATE, load: { ...STATE.load, pendingPrefillTokens } }, breakdown);
      return breakdown.queueingDelayForOthersMs;
    };
    expect(delayMs(200_000) / delayMs(100_000)).toBeCloseTo(2, 1);
  });

  it('[Q151] counts nothing of what others wait where another flow crowds this one out', () => {
    const traffic = { requestsPerMs: 0, utilization: 0.4 };
    const terms = (isCrowdedOut: boolean, requests: number) => {
      const breakdown = emptyBreakdown();
      const load = { ...STATE.load, requests };
      const state = { ...STATE, load, traffic };
      computeCost({ ...REQUEST, isCrowdedOut }, state, breakdown);
      return breakdown;
    };
    expect(terms(false, 100).heldUpMs).toBeGreaterThan(0);
    const [few, many] = [terms(true, 10), terms(true, 100)];
    expect([few.heldUpMs, many.heldUpMs, many.queueingDelayForOthersMs]).toEqual([0, 0, 0]);
    // Its own answer takes the longer, the more are answered there.
    expect(many.answersMs).toBeGreaterThan(few.answersMs);
    expect(many.stepsMs).toBeGreaterThan(few.stepsMs);
  });

  /** Both waits for memory at this use of it, where `requests` of ours hold `eachTokens` each. */
  const memoryWaits = (
    heldTokens: number,
    [requests, eachTokens]: readonly [number, number],
    { promptTokens = 4000, cachedTokens = 0, heldByEach = 0 } = {},
  ): readonly number[] => {
    const breakdown = emptyBreakdown();
    const load = { requests, pendingPrefillTokens: 0, contextTokens: requests * eachTokens };
    const state = { ...STATE, load, cachedTokens, heldTokens, heldByEach };
    computeCost({ ...REQUEST, promptTokens }, state, breakdown);
    return [breakdown.memoryMs, breakdown.memoryDelayForOthersMs];
  };
  const NO_WAITS = [0, 0];

  it('[Q400] waits for memory where chance makes its use more than all: with few large requests sooner than with many small ones', () => {
    for (const wait of memoryWaits(340_000, [80, 4200])) expect(wait).toBeGreaterThan(0);
    expect(memoryWaits(340_000, [560, 600], { promptTokens: 400 })).toEqual(NO_WAITS);
    // The use varies by what all there hold, and not by how large this one is.
    expect(memoryWaits(340_000, [560, 600])).toEqual(NO_WAITS);
    expect(memoryWaits(340_000, [80, 4200], { promptTokens: 400 })[0]).toBeGreaterThan(0);
    expect(memoryWaits(200_000, [48, 4200])).toEqual(NO_WAITS);
    // What it shares with others is there, whoever comes and goes.
    expect(memoryWaits(340_000, [80, 4200], { cachedTokens: 3900 })).toEqual(NO_WAITS);
  });

  it('[Q401] waits for memory that requests of others hold: they are as large as what runs there, or as ours where nothing is reported', () => {
    for (const wait of memoryWaits(340_000, [0, 0])) expect(wait).toBeGreaterThan(0);
    expect(memoryWaits(340_000, [1, 4200])[0]).toBeGreaterThan(0);
    expect(memoryWaits(340_000, [0, 0], { promptTokens: 400 })).toEqual(NO_WAITS);
    expect(memoryWaits(340_000, [20, 600], { promptTokens: 400 })).toEqual(NO_WAITS);
    const short = { promptTokens: 400, heldByEach: 4200 };
    expect(memoryWaits(340_000, [0, 0], short)[0]).toBeGreaterThan(0);
    expect(memoryWaits(340_000, [20, 600], short)[0]).toBeGreaterThan(0);
    // More are under way than would fill what the engine reports: its report is late, or they share.
    const [late = 0] = memoryWaits(380_000, [400, 4200]);
    expect(late).toBeGreaterThan(memoryWaits(380_000, [90, 4200])[0] ?? 0);
  });

  it('[Q260] delays others for memory by the answers in flight in the pool, where these take minutes', () => {
    const delayMs = (outputTokens: number, requestsPerMs: number): number => {
      const breakdown = emptyBreakdown();
      const traffic = { requestsPerMs, utilization: 0.4 };
      const requestsPerToken = (): number => 50 / 400_000;
      const state = { ...STATE, requestsPerToken, traffic, heldTokens: 399_500 };
      computeCost({ ...REQUEST, outputTokens }, state, breakdown);
      return breakdown.memoryDelayForOthersMs;
    };
    // Of one request in 4 s five or ten came in half a minute by chance.
    expect(delayMs(200, 1 / 3000) / delayMs(200, 1 / 6000)).toBeCloseTo(2, 9);
    expect(delayMs(20_000, 1 / 3000)).toBe(delayMs(20_000, 1 / 6000));
    const crowdedOut = { isCrowdedOut: true, outputTokens: 20_000 };
    const breakdown = emptyBreakdown();
    computeCost({ ...REQUEST, ...crowdedOut }, { ...STATE, heldTokens: 390_000 }, breakdown);
    expect(breakdown.memoryMs).toBeGreaterThan(0);
    expect(breakdown.memoryDelayForOthersMs).toBe(0);
  });

  it('[Q257] waits for memory only after the prompts before it, where those that were sent fit', () => {
    const memoryMs = (heldTokens: number, pendingPrefillTokens: number): number => {
      const breakdown = emptyBreakdown();
      const sentPrefillTokens = STATE.load.pendingPrefillTokens;
      const load = { ...STATE.load, pendingPrefillTokens, sentPrefillTokens };
      const request = { ...REQUEST, outputTokens: 1000 };
      computeCost(request, { ...STATE, heldTokens, load }, breakdown);
      return breakdown.memoryMs;
    };
    // Until memory is free it takes 167 ms with 1,000 tokens before it, which take 40 ms.
    expect(memoryMs(380_000, 1000)).toBeCloseTo(127.3, 0);
    // 10,000 tokens take 400 ms: more than until memory is free.
    expect(memoryMs(380_000, 10_000)).toBe(0);
    // What was sent does not fit, and is not computed before there is memory.
    expect(memoryMs(398_900, 1000)).toBeGreaterThan(200);
    expect(memoryMs(399_000, 1000)).toBeGreaterThan(memoryMs(398_900, 1000) + 40);
  });
});
