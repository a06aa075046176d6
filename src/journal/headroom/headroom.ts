import type { LatencyObjective } from '../../cost-model/capacity.ts';
import { type Endpoint, type EndpointId, isFresh } from '../../framework/endpoint.ts';
import {
  type Outcome,
  type RequestObserver,
  type Routed,
  tokensToCompute,
  type Usage,
} from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { DecisionEvent, JournalSubscriber } from '../../picker/events/journal.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { PRESENT_S } from './arrival-trend.ts';
import { CountedArrivals, type CountedArrivalsOptions, partOf } from './counted-arrivals.ts';
import type { HeadroomReport, HeadroomStage, StageHeadroom } from './headroom-report.ts';
import { MeasuredCapacity } from './measured-capacity.ts';
import { enginesOf, ServerFigures } from './server-figures.ts';
import { serverQueues } from './server-queues.ts';
import { replicasOf, stageHeadroom, waitingShare } from './stage-headroom.ts';
import { type MixedRequest, StageMix } from './stage-mix.ts';
import { type StageEndpoints, Stages } from './stages.ts';
import { UnansweredRequests } from './unanswered-requests.ts';

export interface HeadroomOptions extends CountedArrivalsOptions {
  /** Says whether prompts may be computed apart. Left out: what is seen says it. */
  readonly plan?: PickerPlan | undefined;
  readonly endpoints: () => readonly Endpoint[];
  /** How many requests may be in flight there; infinity for any number. */
  readonly limitOf: (endpoint: Endpoint) => number;
  /** Whether flow control lets nothing through now, while requests wait there. */
  readonly isHeldBack?: (() => boolean) | undefined;
  /** Whether an endpoint gets no requests now, although it is of the pool. */
  readonly isEjected: (endpoint: Endpoint) => boolean;
  readonly objective?: LatencyObjective | undefined;
  /** The share of the capacity that autoscaling aims at, above 0 and at most 1. */
  readonly target?: number | undefined;
  /** How long a new replica takes to serve: demand is foreseen for so long. */
  readonly leadMs?: Millis | undefined;
}

export const DEFAULT_OBJECTIVE: LatencyObjective = { ttftMs: 2000, tpotMs: 100 };
export const DEFAULT_TARGET = 0.8;
export const DEFAULT_LEAD_MS: Millis = 60_000;

const SECOND_MS: Millis = 1000;
const ACTIVE_MS: Millis = 60_000;
/** A pool that is saturated for as long as demand is a mean over has more demand than capacity. */
const SATURATED_S = PRESENT_S;

/**
 * How much more the pool can serve, for autoscalers and people. It counts what arrives, placed or
 * not, and what an arriving request is on average. The picker's own model of its engines and its
 * ledger say the rest; it reads both as the last decision had them.
 */
export class Headroom implements JournalSubscriber {
  readonly #options: HeadroomOptions;
  readonly #arrivals: CountedArrivals;
  readonly #all = new StageMix();
  readonly #mixes = { prefill: new StageMix(), decode: new StageMix() };
  readonly #stages: Stages;
  readonly #servers: ServerFigures;
  readonly #saturatedS = new Map<HeadroomStage, number>();
  /** For how many seconds flow control has let nothing through while requests waited. */
  #heldBackS = 0;
  readonly #unanswered = new UnansweredRequests();
  /** What was needed before requests failed at all servers. */
  readonly #needed = new Map<HeadroomStage, number | undefined>();
  /** There is none for `prefill`: the ends of what its servers compute are not seen. */
  readonly #measured: Readonly<Record<'all' | 'decode', MeasuredCapacity>>;

  /** Observes the requests of the pickers that share with this one. */
  readonly elsewhereObserver: RequestObserver = {
    onRouted: (routed) => {
      this.#arrivals.arrivedElsewhere(routed.at);
      // How long its answer will be is not known before the first decision here.
      if (this.#servers.areKnown) this.onRouted(routed);
    },
    onFirstToken: (routed, at) => this.onFirstToken(routed, at),
    onDone: (routed, at, outcome, usage) => {
      if (this.#servers.areKnown) this.onDone(routed, at, outcome, usage);
    },
  };

  constructor(options: HeadroomOptions) {
    this.#options = options;
    const { limitOf } = options;
    this.#servers = new ServerFigures({ objective: this.#objective, limitOf });
    this.#arrivals = new CountedArrivals(options);
    this.#stages = new Stages(options.plan);
    const measured = (): MeasuredCapacity =>
      new MeasuredCapacity((answering, mix) => this.#servers.perSecond(answering, mix, 1));
    this.#measured = { all: measured(), decode: measured() };
  }

  /** Counts arrivals second by second, until it is stopped. */
  start(): { stop(): void } {
    return this.#arrivals.start(() => this.#lookAtStages());
  }

  onDecision({ context, at }: DecisionEvent): void {
    this.#arrivals.arrived(at);
    if (context !== undefined) this.#servers.learn(context);
  }

  onAdopted(plan: PickerPlan): void {
    this.#stages.adopt(plan);
  }

  onRouted(routed: Routed): void {
    const { prefill, at } = routed;
    const request = this.#mixed(routed);
    this.#all.add(request, at);
    if (prefill !== undefined) {
      this.#stages.sawPrefill();
      this.#mixes.prefill.add({ ...request, outputTokens: 0 }, at);
    }
    this.#mixes.decode.add(decodePart(request, routed), at);
    this.#measured.all.sent();
    this.#measured.decode.sent();
  }

  onFirstToken(_routed: Routed, at: Millis): void {
    this.#unanswered.answered(at);
  }

  onDone(routed: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    if (outcome === 'completed') this.#unanswered.answered(at);
    if (outcome === 'failed') this.#unanswered.failed(routed.endpoint.id, at);
    const request = this.#mixed(routed);
    const isAnswered = outcome === 'completed' && usage !== undefined;
    this.#measured.all.ended(request, isAnswered);
    this.#measured.decode.ended(decodePart(request, routed), isAnswered);
  }

  /** Sizes are read in one way at the pick and at the end, so that both compare. */
  #mixed(routed: Routed): MixedRequest {
    const { request, endpoint, prefill } = routed;
    const { promptTokens } = request;
    const uncachedTokens = tokensToCompute(routed);
    const outputTokens = this.#servers.expectedOutputTokens(request);
    const isInTime = this.#servers.isInTime(prefill ?? endpoint, { promptTokens, uncachedTokens });
    return { promptTokens, uncachedTokens, outputTokens, isInTime };
  }

  /** The state at this moment. */
  report(): HeadroomReport {
    const { clock, waiting, endpoints } = this.#options;
    const at = clock.now();
    const pool = endpoints();
    const saturations = new Map<EndpointId, number>();
    const stages = this.#stages.of(pool).map((each) => this.#stage(each, { at, saturations }));
    const inFlight = pool.some((each) => (this.#servers.loads?.load(each).requests ?? 0) > 0);
    return {
      waiting: waiting(),
      active:
        inFlight || this.#arrivals.whole.waiting > 0 || at - this.#arrivals.lastAt < ACTIVE_MS,
      stages,
      endpoints: saturations,
    };
  }

  /**
   * What each stage gets, and for how long it has been saturated: for a moment, chance makes it so,
   * too.
   */
  #lookAtStages(): void {
    const { clock, isHeldBack = () => false } = this.#options;
    const at = clock.now();
    this.#heldBackS = isHeldBack() ? this.#heldBackS + 1 : 0;
    for (const each of this.#stages.of(this.#options.endpoints())) {
      const { stage, endpoints } = each;
      const mix = this.#mixOf(stage);
      this.#stages.learn(each, mix, this.#all, at);
      const answering = answeringOf(this.#openOf(endpoints), at);
      const modelled = this.#servers.perSecond(answering, mix.mean, 1);
      const waiting = this.#arrivals.whole.waiting * this.#stages.shareOf(each, mix, this.#all, at);
      const isSaturated =
        endpoints.length > 0 &&
        (this.#heldBackS > 0 || this.#saturationWith(each, waiting, modelled, at) > 1);
      this.#saturatedS.set(stage, isSaturated ? (this.#saturatedS.get(stage) ?? 0) + 1 : 0);
      const { running, counted } = serverQueues(answering, this.#servers.loads);
      if (counted > 0)
        this.#measuredOf(stage)?.look({ at, isSaturated, answering, running, counted });
    }
  }

  /** Undefined for servers that compute prompts for others. */
  #measuredOf(stage: HeadroomStage): MeasuredCapacity | undefined {
    return stage === 'prefill' ? undefined : this.#measured[stage];
  }

  /**
   * The saturation of the least saturated endpoint, or the time that what waits at the picker takes
   * over the objective of the first token: one more request waits behind it.
   */
  #saturationWith(
    { stage, endpoints }: StageEndpoints,
    waiting: number,
    modelled: number,
    at: Millis,
  ): number {
    const mix = this.#mixOf(stage).mean;
    const open = this.#openOf(endpoints).map((each) => this.#servers.saturationOf(each, mix, at));
    const perSecond = (this.#measuredOf(stage)?.shareAt(at) ?? 1) * modelled;
    const late = waitingShare({ demand: { waiting }, objective: this.#objective }, perSecond);
    return Math.max(late, Math.min(...open));
  }

  #stage(
    each: StageEndpoints,
    { at, saturations }: { readonly at: Millis; readonly saturations: Map<EndpointId, number> },
  ): StageHeadroom {
    const { target = DEFAULT_TARGET, leadMs = DEFAULT_LEAD_MS } = this.#options;
    const { stage, endpoints: serving } = each;
    const mix = this.#mixOf(stage);
    const share = this.#stages.shareOf(each, mix, this.#all, at);
    for (const one of serving)
      saturations.set(one.id, this.#servers.saturationOf(one, mix.mean, at));
    const open = this.#openOf(serving);
    const answering = answeringOf(open, at);
    const isSaturated = (this.#saturatedS.get(stage) ?? 0) >= SATURATED_S;
    const queue = serverQueues(answering, this.#servers.loads);
    // What waits there longer than the objective allows.
    const queued = isSaturated ? queue.queued * queue.counted : 0;
    const isFailing =
      serving.length > 0 && this.#unanswered.fail(serving, this.#options.isEjected, at);
    const headroom = stageHeadroom({
      stage,
      endpoints: serving.length,
      replicas: replicasOf(serving),
      answering: replicasOf(answering),
      isFailing,
      isHeldBack: this.#heldBackS >= SATURATED_S,
      neededBefore: this.#needed.get(stage),
      saturation: Math.min(...open.map(({ id }) => saturations.get(id) ?? 0)),
      isSaturated,
      shownShare: this.#measuredOf(stage)?.shareAt(at) ?? 1,
      mix: mix.mean,
      capacities: answering.map((one) =>
        this.#servers.capacityOf(one, mix.mean, enginesOf(answering)),
      ),
      capacityWith: (times) => times * this.#servers.perSecond(answering, mix.mean, times),
      demand: partOf(this.#arrivals.whole, share, queued),
      ownDemand: partOf(this.#arrivals.own, share, queued),
      isWarm: this.#arrivals.seconds >= leadMs / SECOND_MS,
      objective: this.#objective,
      target,
      leadS: leadMs / SECOND_MS,
    });
    if (!isFailing) this.#needed.set(stage, headroom.neededReplicas);
    return headroom;
  }

  /** The endpoints that requests go to. Where all are ejected, requests go to any of them. */
  #openOf(endpoints: readonly Endpoint[]): readonly Endpoint[] {
    const open = endpoints.filter((each) => !this.#options.isEjected(each));
    return open.length > 0 ? open : endpoints;
  }

  get #objective(): LatencyObjective {
    return this.#options.objective ?? DEFAULT_OBJECTIVE;
  }

  #mixOf(stage: HeadroomStage): StageMix {
    return stage === 'all' ? this.#all : this.#mixes[stage];
  }
}

function answeringOf(open: readonly Endpoint[], at: Millis): readonly Endpoint[] {
  const fresh = open.filter((one) => isFresh(one, at));
  // Where no sample is fresh, nothing says which of them answer.
  return fresh.length > 0 ? fresh : open;
}

/** What is left of a request for the server that answers, where its prompt is computed elsewhere. */
function decodePart(request: MixedRequest, { prefill }: Routed): MixedRequest {
  return prefill === undefined ? request : { ...request, uncachedTokens: 0 };
}
