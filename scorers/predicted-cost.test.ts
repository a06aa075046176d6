import { describe, expect, it } from 'vitest';
import { type Endpoint, type EndpointId } from '../src/framework/endpoint.ts';
import {
  IN_FLIGHT,
  type InFlightLoad,
  type InFlightView,
  type PrefixMatch,
  prefixMatchKey,
} from '../src/framework/keys.ts';
import type { Routed } from '../src/framework/observer.ts';
import { type InferenceRequest, NO_BLOCKS } from '../src/framework/request.ts';
import type { SchedulingContext } from '../src/framework/scheduling.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { SimulatedClock } from '../src/sim/simulated-clock.ts';
import { predictedCost } from './predicted-cost.ts';

interface Situation extends Partial<InFlightLoad> {
  readonly matchedBlocks?: number;
  readonly sampledAt?: number;
}

const NOW = 1000;
const request: InferenceRequest = {
  id: 'r',
  model: 'm',
  streaming: true,
  outputTokensMax: undefined,
  promptTokens: 6400,
  prompt: NO_BLOCKS,
  priority: 0,
  fairnessId: 'default-flow',
  objective: undefined,
  ttftSloMs: undefined,
  tpotSloMs: undefined,
  headers: new Map(),
  bodyBytes: 0,
};

function endpointAt(slot: number, { sampledAt = NOW }: Situation): Endpoint {
  return {
    id: `pod-${slot}` as EndpointId,
    address: `pod-${slot}:8000`,
    slot,
    labels: new Map(),
    metrics: { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0, sampledAt },
    attribute: (key) => key.initial,
  };
}

function contextOf(situations: readonly Situation[], now = NOW): SchedulingContext {
  const inFlight: InFlightView = {
    load: ({ slot }) => ({
      requests: 0,
      pendingPrefillTokens: 0,
      contextTokens: 0,
      ...situations[slot],
    }),
  };
  const match: PrefixMatch = {
    totalBlocks: 100,
    blockTokens: 64,
    matchedBlocks: ({ slot }) => situations[slot]?.matchedBlocks ?? 0,
  };
  const facts = new Map<string, unknown>([
    [IN_FLIGHT.name, inFlight],
    [prefixMatchKey().name, match],
  ]);
  return {
    request,
    now,
    random: seededRandom(1),
    get: <T>(key: { readonly name: string }) => facts.get(key.name) as T,
  };
}

function newScorer(): ReturnType<typeof predictedCost.create> {
  return predictedCost.create(predictedCost.config.parse({}), {
    clock: new SimulatedClock(),
    random: seededRandom(1),
    network: { get: () => Promise.reject(new Error('no network here')) },
  });
}

function best(situations: readonly Situation[]): number {
  const scores = newScorer().score(
    situations.map((s, slot) => endpointAt(slot, s)),
    contextOf(situations),
  );
  return scores.indexOf(Math.max(...scores));
}

describe('predicted-cost-scorer', () => {
  it('goes where the prompt is cached while that endpoint is little busier', () => {
    expect(best([{ requests: 2 }, { requests: 4, matchedBlocks: 90 }])).toBe(1);
  });

  it('leaves the cached copy when the work waiting there costs more than computing it again', () => {
    expect(best([{}, { pendingPrefillTokens: 200_000, matchedBlocks: 90 }])).toBe(0);
  });

  it('counts what was just sent: of two alike, the one with work waiting loses', () => {
    expect(best([{ requests: 1, pendingPrefillTokens: 500 }, {}])).toBe(1);
  });

  it('avoids an endpoint whose KV memory is nearly full', () => {
    expect(best([{ contextTokens: 390_000, matchedBlocks: 50 }, {}])).toBe(1);
  });

  it('gives an endpoint never scraped, or long not scraped, nothing while another is known', () => {
    const situations = [
      { sampledAt: Number.NEGATIVE_INFINITY },
      { requests: 50 },
      { sampledAt: -5000 },
    ];
    const scores = newScorer().score(
      situations.map((s, slot) => endpointAt(slot, s)),
      contextOf(situations),
    );
    expect(scores).toEqual([0, 1, 0]);
  });

  it('still tells endpoints apart by its own ledger when none was ever scraped', () => {
    const unknown = { sampledAt: Number.NEGATIVE_INFINITY };
    expect(best([{ ...unknown, requests: 9, pendingPrefillTokens: 9000 }, unknown])).toBe(1);
  });

  it('shuns an endpoint that just failed, for longer with each failure, until one succeeds', () => {
    const scorer = newScorer();
    const endpoints = [endpointAt(0, {}), endpointAt(1, {})];
    const situations = [{ matchedBlocks: 100 }, {}];
    const routed: Routed = {
      request,
      endpoint: endpoints[0] as Endpoint,
      at: 0,
      cachedTokens: 0,
      firstTokenSeen: true,
    };
    const prefers = (now: number): number => {
      const fresh = endpoints.map((e) => ({ ...e, metrics: { ...e.metrics, sampledAt: now } }));
      const scores = scorer.score(fresh, contextOf(situations, now));
      return scores.indexOf(Math.max(...scores));
    };
    expect(prefers(NOW)).toBe(0);
    scorer.onDone?.(routed, NOW, 'failed', undefined);
    expect(prefers(NOW + 499)).toBe(1);
    expect(prefers(NOW + 501)).toBe(0);
    scorer.onDone?.(routed, NOW + 501, 'failed', undefined);
    expect(prefers(NOW + 1400)).toBe(1);
    scorer.onDone?.(routed, NOW + 1400, 'completed', undefined);
    expect(prefers(NOW + 1400)).toBe(0);
  });
});
