import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import { CACHE_CONFIG, CUSTOM_METRICS, LORA, STARTED_AT } from '../../framework/keys.ts';
import type { EndpointObserver } from '../../framework/observer.ts';
import { DEFAULT_FLOW, type InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest, RouteOptions, Router } from '../../framework/routing.ts';
import type { SchedulingResult } from '../../framework/scheduling.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import type { CaptureLines, Hidden } from './capture-lines.ts';
import type { CapturedDecision, CaptureRecord, EndpointRecord } from './capture-record.ts';
import type { EventClock } from './event-clock.ts';
import { type TappedParts, TappedRequest } from './tapped-request.ts';
import { ToldHeaders } from './told-headers.ts';

export interface CaptureParts {
  /** What decides at first. */
  readonly plan: PickerPlan;
  /** What is told of requests is enough for these, too. */
  readonly shadows?: readonly PickerPlan[] | undefined;
  readonly clock: EventClock;
  /** Hides what a fairness id or a header says. */
  readonly hash: (text: string) => string;
  readonly lines: CaptureLines;
}

/** Tells all that goes into a decision core, and what it decides, as records from which both can be had again. */
export class CaptureTap {
  readonly #parts: CaptureParts;
  readonly #tapped: TappedParts;
  readonly #headers: ToldHeaders;
  /** Samples not told yet: only those that a decision has seen matter. */
  readonly #samples = new Map<Endpoint['id'], Endpoint>();
  #requests = 0;
  #result: SchedulingResult | undefined;
  #tellsScores = true;

  constructor(parts: CaptureParts) {
    this.#parts = parts;
    this.#headers = new ToldHeaders(parts.hash, parts.shadows);
    this.#follow(parts.plan);
    const { clock, lines } = parts;
    this.#tapped = { clock, lines, hide: (request) => this.#hide(request) };
  }

  /** For `pool.observeEndpoints`. */
  get endpoints(): EndpointObserver {
    return {
      onEndpointAdded: (endpoint) => this.#added(endpoint),
      onEndpointRemoved: ({ id }) => {
        this.#samples.delete(id);
        this.#headers.gone(id);
        this.#write({ e: '-', id });
      },
      onEndpointChanged: (endpoint, previous) => this.#changed(endpoint, previous),
    };
  }

  /** What somebody who begins to listen now must know of the pool. */
  static snapshot(endpoints: readonly Endpoint[], write: WriteEndpoint): void {
    for (const endpoint of endpoints) {
      const { id, address, labels } = endpoint;
      write({ e: '+', id, address, labels: Object.fromEntries(labels) });
      tellAttributes(endpoint, undefined, write);
      if (endpoint.metrics.sampledAt > Number.NEGATIVE_INFINITY) tellSample(endpoint, write);
    }
  }

  /** For a wrapped scheduler: what came of the cycle at hand. */
  decided(result: SchedulingResult): void {
    this.#result = result;
  }

  /** Another configuration takes over in `adopt`. One that fails is not told. */
  adopts(plan: PickerPlan, adopt: () => void): void {
    this.#parts.clock.settingUp((t) => {
      adopt();
      this.#follow(plan);
      // What it begins with is the pool as it is now.
      this.#tellSamples();
      this.#write({ e: 'adopt', t, config: plan.effective });
    });
  }

  /** The same router, its requests told. */
  router(router: Router): Router {
    return {
      ...(router.prepare && { prepare: router.prepare.bind(router) }),
      route: (request, options) =>
        this.#parts.clock.during((t) => this.#route(router, { t, request, options })),
    };
  }

  #follow(plan: PickerPlan): void {
    this.#headers.follow(plan);
    this.#tellsScores = !plan.plugins.some(({ definition }) => definition.hashesPrompt === true);
  }

  #route(
    router: Router,
    {
      t,
      request,
      options = {},
    }: { t: number; request: InferenceRequest; options?: RouteOptions | undefined },
  ): RoutedRequest {
    this.#tellSamples();
    const n = this.#requests++;
    this.#result = undefined;
    let routed: RoutedRequest;
    try {
      routed = router.route(request, options);
    } catch (error) {
      if (error instanceof RoutingError) {
        const decision = { error: error.code };
        this.#parts.lines.asked(t, n, { request, hidden: this.#hide(request), options, decision });
      }
      throw error;
    }
    const decided = decisionOf(routed, this.#result);
    const decision = this.#tellsScores ? decided : { ...decided, score: Number.NaN };
    this.#parts.lines.asked(t, n, { request, hidden: this.#hide(request), options, decision });
    return new TappedRequest(this.#tapped, routed, n);
  }

  #hide({ headers, fairnessId }: InferenceRequest): Hidden {
    const fairness = fairnessId === DEFAULT_FLOW ? fairnessId : this.#parts.hash(fairnessId);
    return { headers: this.#headers.tell(headers), fairness };
  }

  #added(endpoint: Endpoint): void {
    const { id, address, labels } = endpoint;
    this.#headers.seen(endpoint);
    this.#write({ e: '+', id, address, labels: Object.fromEntries(labels) });
    if (endpoint.metrics.sampledAt > Number.NEGATIVE_INFINITY) this.#samples.set(id, endpoint);
    tellAttributes(endpoint, undefined, this.#write);
  }

  #changed(endpoint: Endpoint, previous: Endpoint): void {
    const { id, labels } = endpoint;
    if (labels !== previous.labels) {
      this.#headers.seen(endpoint);
      this.#write({ e: 'labels', id, labels: Object.fromEntries(labels) });
    }
    if (endpoint.metrics !== previous.metrics) this.#samples.set(id, endpoint);
    tellAttributes(endpoint, previous, this.#write);
  }

  readonly #write = (record: CaptureRecord): void => this.#parts.lines.record(record);

  #tellSamples(): void {
    if (this.#samples.size === 0) return;
    for (const endpoint of this.#samples.values()) this.#parts.lines.sampled(endpoint);
    this.#samples.clear();
  }
}

type WriteEndpoint = (record: EndpointRecord) => void;

function tellSample({ id, metrics }: Endpoint, write: WriteEndpoint): void {
  const { waitingQueueSize, runningRequests, kvCacheUsage, sampledAt } = metrics;
  write({ e: 'm', id, m: [waitingQueueSize, runningRequests, kvCacheUsage, sampledAt] });
}

function tellAttributes(
  endpoint: Endpoint,
  previous: Endpoint | undefined,
  write: WriteEndpoint,
): void {
  const { id } = endpoint;
  const [cache, lora] = [endpoint.attribute(CACHE_CONFIG), endpoint.attribute(LORA)];
  const [started, custom] = [endpoint.attribute(STARTED_AT), endpoint.attribute(CUSTOM_METRICS)];
  if (cache !== undefined && cache !== previous?.attribute(CACHE_CONFIG)) {
    write({ e: 'cache', id, ...cache });
  }
  if (lora !== undefined && lora !== previous?.attribute(LORA)) {
    const { running, waiting, max } = lora;
    write({ e: 'lora', id, running: [...running], waiting: [...waiting], max });
  }
  if (started !== undefined && started !== previous?.attribute(STARTED_AT)) {
    write({ e: 'started', id, s: started });
  }
  if (custom !== (previous?.attribute(CUSTOM_METRICS) ?? CUSTOM_METRICS.initial)) {
    write({ e: 'custom', id, values: Object.fromEntries(custom) });
  }
}

/** What is compared when it is decided again. */
export function decisionOf(
  { endpoint }: Pick<RoutedRequest, 'endpoint'>,
  result: SchedulingResult | undefined,
): CapturedDecision {
  const target = result?.primary.kind === 'picked' ? result.primary.targets[0] : undefined;
  const score = target?.score ?? Number.NaN;
  return { endpoint: endpoint.id, score, prefill: result?.prefill?.id, by: result?.decidedBy };
}

/** A picker whose router is tapped; all else is the picker's own. */
export function tapped(picker: EndpointPicker, tap: CaptureTap): EndpointPicker {
  picker.pool.observeEndpoints(tap.endpoints);
  return {
    ...picker,
    ...tap.router(picker),
    adopt: (plan) => tap.adopts(plan, () => picker.adopt(plan)),
  };
}
