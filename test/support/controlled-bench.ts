import { DEFAULT_DETECTOR } from '../../src/flow/control/detector-types.ts';
import type { FlowControlPlan } from '../../src/flow/control/flow-control-plan.ts';
import { FairShares } from '../../src/flow/fair-shares.ts';
import type { Endpoint, EndpointId } from '../../src/framework/endpoint.ts';
import { RoutingError } from '../../src/framework/error.ts';
import type { Routed } from '../../src/framework/observer.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import { ConcurrencyLimit } from '../../src/picker/capacity/concurrency-limit.ts';
import type { ControlledPicker } from '../../src/picker/flow-control/controlled-picker.ts';
import {
  ControlledRouter,
  type ControlledRouterOptions,
} from '../../src/picker/flow-control/controlled-router.ts';
import { Ledger } from '../../src/picker/load/ledger.ts';
import type { CapacityPlan } from '../../src/picker/plan/capacity-plan.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { makeRequest } from '../makers.ts';

const policy = (type: string): { name: string; type: string; config: object } => ({
  name: type,
  type,
  config: {},
});
const band = {
  maxBytes: 1e9,
  maxRequests: 5000,
  ordering: policy('fcfs-ordering-policy'),
  fairness: policy('global-strict-fairness-policy'),
};

export const DETECTOR: {
  concurrencyMode: string;
  maxConcurrency: number;
  maxTokenConcurrency: number;
} = { concurrencyMode: 'requests', maxConcurrency: 1, maxTokenConcurrency: 1 };

/** One request at a time. */
export const PLAN: FlowControlPlan = {
  maxBytes: 1e9,
  maxRequests: 100,
  requestTtlMs: 1000,
  noEndpointTtlMs: 1000,
  bands: new Map(),
  defaultBand: band,
  negativeBand: band,
  detector: {
    ...DEFAULT_DETECTOR,
    type: 'concurrency-detector',
    config: DETECTOR,
  },
  usageLimit: { ...policy('static-usage-limit-policy'), config: { threshold: 1 } },
  evicts: false,
};

export interface ControlledBenchOptions {
  readonly plan?: FlowControlPlan;
  /** Whether the picker prepares something for each pick. */
  readonly prepares?: boolean;
  /** Whether streams are in other threads, so that they go on later. */
  readonly inThreads?: boolean;
  readonly capacity?: CapacityPlan;
  readonly measured?: ControlledRouterOptions['measured'];
  readonly onStay?: ControlledRouterOptions['onStay'];
  /** Which requests cannot be placed. */
  readonly fails?: (request: InferenceRequest) => boolean;
}

/** A picker whose endpoint takes every request, and streams that route when they may go on. */
export class ControlledBench {
  readonly clock: SimulatedClock = new SimulatedClock();
  readonly pool: EndpointPool = new EndpointPool();
  /** Requests in flight that were ended for others. */
  readonly evicted: string[] = [];
  readonly router: ControlledRouter;
  readonly routed: string[] = [];
  readonly refused: string[] = [];
  /** How long each routed request has waited, as its decision says; 0 for not at all. */
  readonly heldMs: number[] = [];
  /** What the picker prepares: the requests go on when it is called. */
  readonly prepared: (() => void)[] = [];
  /** Streams in other threads that may go on, and ask for their pick when called. */
  readonly asking: (() => void)[] = [];
  readonly shares: FairShares = new FairShares();
  readonly #ledger = new Ledger();
  readonly #ends = new Map<string, () => void>();
  readonly #inThreads: boolean;

  constructor({
    plan = PLAN,
    prepares = false,
    inThreads = false,
    capacity,
    measured,
    onStay,
    fails = () => false,
  }: ControlledBenchOptions = {}) {
    this.#inThreads = inThreads;
    this.router = new ControlledRouter({ clock: this.clock, measured, onStay });
    const { pool } = this;
    pool.observeEndpoints(this.#ledger);
    const [endpoint] = this.join() as [Endpoint];
    const prepare: ControlledPicker['prepare'] = (_request, _body, ready) => {
      this.prepared.push(ready);
      return true;
    };
    const limit = new ConcurrencyLimit(this.#ledger);
    limit.configure(capacity);
    this.router.attach({
      pool,
      ledger: this.#ledger,
      shares: this.shares,
      limit,
      ejector: { remaining: (endpoints) => endpoints },
      prepare: prepares ? prepare : undefined,
      route: (request, options) => {
        if (fails(request)) throw new Error('the pick fails');
        this.heldMs.push(options?.waited?.heldMs ?? 0);
        const size = { model: 'm', prefillTokens: 1, contextTokens: 1 };
        const reservation = this.#ledger.reserve(endpoint, size);
        this.#ends.set(request.id, () => reservation.release());
        return { request } as RoutedRequest;
      },
    });
    this.router.configure(plan);
  }

  join(): readonly Endpoint[] {
    this.pool.upsert({ id: 'pod' as EndpointId, address: 'pod:8000', labels: new Map() });
    return this.pool.snapshot();
  }

  /** Requests and prompt tokens that wait, by the account of the flow. */
  waitingOf(fairnessId: string): readonly number[] {
    const { waiting, pendingTokens } = this.shares.of(makeRequest({ fairnessId }));
    return [waiting, pendingTokens];
  }

  send(id: string, fields: Partial<InferenceRequest> = {}): InferenceRequest {
    const headers = new Map([[':method', 'POST']]);
    const request = makeRequest({ id, headers, ...fields });
    const route = (): void => {
      try {
        this.router.route(request);
        this.routed.push(id);
      } catch (error) {
        this.refused.push(`${id} ${error instanceof RoutingError ? error.code : String(error)}`);
      }
    };
    const ready = this.#inThreads ? (): void => void this.asking.push(route) : route;
    const refuse = (): void => void this.evicted.push(id);
    if (this.router.prepare?.(request, [], ready, { refuse }) !== true) ready();
    return request;
  }

  end(request: InferenceRequest): void {
    this.#ends.get(request.id)?.();
    const routed = { request, at: this.clock.now() } as Routed;
    this.router.observer.onDone?.(routed, this.clock.now(), 'completed', undefined);
    this.clock.advanceTo(this.clock.now());
  }
}
