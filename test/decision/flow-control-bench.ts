import { globalStrict } from '../../src/flow/control/fairness/global-strict.ts';
import { leastAttainedService } from '../../src/flow/control/fairness/least-service.ts';
import { roundRobin } from '../../src/flow/control/fairness/round-robin.ts';
import { tokenCounters } from '../../src/flow/control/fairness/token-counters.ts';
import { turnPriority } from '../../src/flow/control/fairness/turn-priority.ts';
import { FlowControl } from '../../src/flow/control/flow-control.ts';
import type { BandParts, FlowControlParts } from '../../src/flow/control/flow-control-parts.ts';
import { firstCome } from '../../src/flow/control/orderings.ts';
import { concurrency } from '../../src/flow/control/saturation/saturation-detectors.ts';
import { staticLimit } from '../../src/flow/control/saturation/usage-limits.ts';
import type { Served, Waiting } from '../../src/flow/discipline.ts';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import { makePool, makeRequest, NOW } from '../makers.ts';

const TOKENS = { inputTokenWeight: 1, outputTokenWeight: 1 };
const WEIGHTS: Readonly<Record<string, number>> = { one: 1, two: 2, four: 4 };
export const PROGRAMS = { idleMs: 3_600_000, sweepMs: 300_000, halfLifeMs: 60_000, perSecond: 1 };

/** A pool of one endpoint that may have so many requests in flight. */
export class FlowControlBench {
  readonly control: FlowControl;
  inFlight: number = 0;
  endpoints: readonly Endpoint[] = makePool([{}]);
  /** The priorities of the objectives, by name. */
  objectives: ReadonlyMap<string, number> = new Map();
  #requests = 0;

  constructor(plan: Partial<FlowControlParts> = {}, capacity = 1) {
    const band = makeBand();
    const config = {
      concurrencyMode: 'requests' as const,
      maxConcurrency: capacity,
      maxTokenConcurrency: 1,
    };
    this.control = new FlowControl(
      {
        maxBytes: Number.POSITIVE_INFINITY,
        maxRequests: Number.POSITIVE_INFINITY,
        requestTtlMs: 60_000,
        noEndpointTtlMs: 60_000,
        bands: new Map(),
        defaultBand: band,
        negativeBand: band,
        fairness: new Map([
          ['strict', globalStrict],
          ['robin', roundRobin],
          ['tokens', () => tokenCounters({ ...TOKENS, weightOf: () => 1 })],
          ['weighted', () => tokenCounters({ ...TOKENS, weightOf: (id) => WEIGHTS[id] ?? 1 })],
          ['least', () => leastAttainedService(PROGRAMS, { service: 0.8, headWait: 0.2 })],
          ['turns', () => turnPriority(PROGRAMS, { timeWeight: 0.05, inactivityMs: 120_000 })],
        ]),
        detector: { name: 'd', lagMs: 10, create: (view) => concurrency(config, view) },
        usageLimit: () => staticLimit(1),
        evicts: false,
        ...plan,
      },
      {
        endpoints: () => this.endpoints,
        objectives: () => this.objectives,
        inFlight: {
          load: () => ({ requests: this.inFlight, pendingPrefillTokens: 0, contextTokens: 0 }),
        },
      },
    );
  }

  wait(fields: Partial<InferenceRequest> = {}, at: number = NOW, bytes: number = 10): Waiting {
    const request = makeRequest({ id: `r${this.#requests++}`, ...fields });
    const waiting = { request, since: at, bytes, candidates: this.endpoints.length };
    this.control.add(waiting, at);
    return waiting;
  }

  /** Places what may be placed, in order. */
  place(at: number = NOW, most: number = Number.POSITIVE_INFINITY): readonly Waiting[] {
    const placed: Waiting[] = [];
    for (const { requests } of this.control.ready(at)) {
      for (const waiting of requests) {
        if (placed.length >= most) return placed;
        this.inFlight += 1;
        this.control.placed(waiting, at);
        placed.push(waiting);
      }
    }
    return placed;
  }

  end({ request }: Waiting, at: number = NOW, served: Partial<Served> = {}): void {
    this.inFlight -= 1;
    const { promptTokens } = request;
    this.control.ended(request, { promptTokens, outputTokens: 5, latencyMs: 100, ...served }, at);
  }
}

export function makeBand(fields: Partial<BandParts> = {}): BandParts {
  return { maxBytes: 1e9, maxRequests: 5000, before: firstCome, fairness: 'strict', ...fields };
}
