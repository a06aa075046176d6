import { describe, expect, it } from 'vitest';
import { makePool } from '../../../test/makers.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { ArrivalTrend } from './arrival-trend.ts';
import type { Arriving } from './counted-arrivals.ts';
import { replicasOf, type StageState, stageHeadroom } from './stage-headroom.ts';

const MIX = {
  promptTokens: 900,
  uncachedTokens: 900,
  uncachedSquares: 1e6,
  outputTokens: 100,
  inTime: { share: 1, promptTokens: 900, uncachedTokens: 900 },
};
const comes = (rate: number, slope = 0, waiting = 0): Arriving => ({ rate, slope, waiting });
/** Four endpoints with 10 requests per second each. */
const STATE: StageState = {
  stage: 'all',
  endpoints: 4,
  replicas: 4,
  answering: 4,
  isFailing: false,
  isHeldBack: false,
  neededBefore: 2.5,
  saturation: 0.3,
  isSaturated: false,
  shownShare: 1,
  mix: MIX,
  capacities: Array.from({ length: 4 }, () => ({ requestsPerMs: 0.01, limit: 'memory' as const })),
  capacityWith: (times) => 40 * times,
  demand: comes(16),
  ownDemand: comes(16),
  isWarm: true,
  objective: { ttftMs: 2000, tpotMs: 100 },
  target: 0.8,
  leadS: 60,
};

describe('the headroom of a stage', () => {
  it('[Q106] is the capacity that demand leaves, in requests and tokens', () => {
    const { requestsPerSecond, tokensPerSecond, utilization } = stageHeadroom(STATE);
    expect(requestsPerSecond).toEqual({ used: 16, capacity: 40, left: 24 });
    expect(tokensPerSecond?.left).toBeCloseTo(24_000, 6);
    expect(utilization).toBe(0.4);
  });

  it('[Q106] asks for the replicas that foreseen demand needs at the target, and with what waits at the capacity', () => {
    const wanted = (fields: Partial<StageState>): number =>
      stageHeadroom({ ...STATE, ...fields }).desiredReplicas;
    expect(wanted({})).toBe(2);
    expect(wanted({ demand: comes(16.1) })).toBe(3);
    expect(wanted({ demand: comes(16, 0.4) })).toBe(5);
    expect(wanted({ demand: comes(16, 0, 200) })).toBe(2);
    expect(wanted({ demand: comes(16, 0, 2000) })).toBe(5);
    expect(wanted({ demand: comes(0) })).toBe(0);
  });

  it('[Q292] asks for the fewest replicas that serve the demand together, where each serves more beside others', () => {
    // Two servers are kept idle, of however many: four serve 20 a second, and eight serve 60.
    const capacityWith = (times: number): number => 10 * Math.max(0.5, 4 * times - 2);
    const wanted = (rate: number): number =>
      stageHeadroom({ ...STATE, capacityWith, demand: comes(rate) }).desiredReplicas;
    expect(wanted(16)).toBe(4);
    expect(wanted(48)).toBe(8);
    expect(wanted(48.1)).toBe(9);
    expect(wanted(1e9)).toBe(65_536);
  });

  it('[O442] asks for no fewer replicas than there are while they are saturated', () => {
    const idle = { ...STATE, demand: comes(1) };
    expect(stageHeadroom(idle).desiredReplicas).toBe(1);
    expect(stageHeadroom({ ...idle, isSaturated: true }).desiredReplicas).toBe(STATE.replicas);
  });

  it('[O456][O536] names no capacity while requests fail at all endpoints, and asks for what there is and was needed before', () => {
    // Clients try again and again.
    const demand = comes(2000, 0, 50);
    const failing = { ...STATE, demand, ownDemand: demand, isFailing: true };
    expect(stageHeadroom(failing)).toMatchObject({
      requestsPerSecond: undefined,
      tokensPerSecond: undefined,
      utilization: undefined,
      saturation: 1,
      secondsToSaturation: 0,
      desiredReplicas: STATE.replicas,
      neededReplicas: STATE.neededBefore,
      limit: 'failing',
    });
  });

  it('[O537] has no room left while flow control holds requests back, whatever the model of the engines says', () => {
    const held = { ...STATE, isHeldBack: true, isSaturated: true, demand: comes(12, 0, 57) };
    const headroom = stageHeadroom(held);
    expect(headroom).toMatchObject({
      requestsPerSecond: { used: 12, capacity: 12, left: 0 },
      utilization: 1,
      saturation: 2.375,
      secondsToSaturation: 0,
      limit: 'flow-control',
    });
    expect(headroom.neededReplicas).toBeGreaterThan(STATE.replicas);
    // What they are seen to serve counts as well.
    expect(stageHeadroom({ ...held, shownShare: 0.2 }).requestsPerSecond?.capacity).toBe(8);
  });

  it('[Q106] asks for no fewer replicas than there are before it has watched demand', () => {
    expect(stageHeadroom({ ...STATE, isWarm: false }).desiredReplicas).toBe(4);
    const unknown = { ...STATE, mix: undefined, capacities: [undefined] };
    expect(stageHeadroom(unknown).desiredReplicas).toBe(4);
    expect(stageHeadroom(unknown).requestsPerSecond).toBeUndefined();
  });

  it('[O383] says what the requests of one picker need, so that several pickers add up to the pool', () => {
    const needed = (rate: number, fields: Partial<StageState> = {}): number | undefined =>
      stageHeadroom({ ...STATE, ownDemand: comes(rate), ...fields }).neededReplicas;
    expect(needed(20)).toBeCloseTo(2.5, 9);
    expect((needed(12) ?? 0) + (needed(8) ?? 0)).toBeCloseTo(2.5, 9);
    const cold = { isWarm: false };
    expect((needed(12, cold) ?? 0) + (needed(8, cold) ?? 0)).toBeCloseTo(2.5, 9);
    // A picker without requests, as one that does not lead, asks for nothing.
    expect(needed(0)).toBe(0);
    expect(needed(0, { mix: undefined, capacities: [undefined] })).toBeUndefined();
  });

  it('[Q106] asks for the first replica where requests wait and there is none', () => {
    const none = { ...STATE, endpoints: 0, replicas: 0, capacities: [] };
    expect(stageHeadroom({ ...none, demand: comes(0, 0, 1) }).desiredReplicas).toBe(1);
    const idle = { ...none, demand: comes(0) };
    expect(stageHeadroom(idle).desiredReplicas).toBe(0);
  });

  it('[Q107] says when demand that grows reaches the capacity, or what waits the objective', () => {
    const seconds = (fields: Partial<StageState>): number | undefined =>
      stageHeadroom({ ...STATE, ...fields }).secondsToSaturation;
    expect(seconds({})).toBeUndefined();
    expect(seconds({ demand: comes(16, 0.1) })).toBeCloseTo(240, 6);
    // 80 requests may wait for two seconds, and 10 more come in each second than can be served.
    expect(seconds({ demand: comes(50, 0, 30) })).toBeCloseTo(5, 6);
    expect(seconds({ saturation: 1.2 })).toBeUndefined();
    expect(seconds({ saturation: 1.2, isSaturated: true })).toBe(0);
  });

  it('[Q106] counts the ranks of a pod as one replica', () => {
    const [pod] = makePool([{}]);
    const named = (id: string) => ({ ...pod, id: id as EndpointId }) as NonNullable<typeof pod>;
    expect(replicasOf(['a-rank-0', 'a-rank-1', 'b'].map(named))).toBe(2);
  });
});

describe('the trend of arrivals', () => {
  const fed = (rateAt: (second: number) => number, seed = 3): ArrivalTrend => {
    const trend = new ArrivalTrend();
    const random = seededRandom(seed);
    for (let second = 0; second < 120; second++) {
      // The sum of twelve draws, less six, is nearly normal.
      let noise = -6;
      for (let draw = 0; draw < 12; draw++) noise += random.next();
      const rate = rateAt(second);
      trend.add(rate + noise * Math.sqrt(rate));
    }
    return trend;
  };

  it('[Q107] grows with demand that grows for two minutes, and not with a step or with chance', () => {
    expect(fed((second) => 10 + second / 4).slope).toBeGreaterThan(0.1);
    expect(fed((second) => (second < 90 ? 10 : 50)).slope).toBeLessThan(0.05);
    expect(fed(() => 20).slope).toBeLessThan(0.05);
    expect(fed(() => 20).rate).toBeGreaterThan(17);
  });
});
