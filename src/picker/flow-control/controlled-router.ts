import type { FlowControl } from '../../flow/control/flow-control.ts';
import type { FlowControlPlan } from '../../flow/control/flow-control-plan.ts';
import type { QueueDiscipline, Waiting } from '../../flow/discipline.ts';
import { invariant, RoutingError } from '../../framework/error.ts';
import type { RequestObserver } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { FirstBand, RoutedRequest, RouteOptions, Router } from '../../framework/routing.ts';
import type { Clock } from '../../framework/runtime.ts';
import { PICKER_ENDS } from '../waiting/departures.ts';
import type { ControlledPicker } from './controlled-picker.ts';
import { FlowReports } from './flow-reports.ts';
import { FlowRounds } from './flow-rounds.ts';
import type { FlowStay } from './flow-stay.ts';
import { KeptRequest } from './kept-request.ts';
import { KeptRequests } from './kept-requests.ts';
import { LetThrough } from './let-through.ts';

export interface ControlledRouterOptions {
  /** The real clock: what waits here is no event of a capture. */
  readonly clock: Clock;
  /** What waits at other replicas of this picker. */
  readonly waitingElsewhere?: (() => readonly FirstBand[]) | undefined;
  /** The priority of each objective. Another map when anything of it has changed. */
  readonly objectives?: (() => ReadonlyMap<string, number>) | undefined;
  /** Puts meters around flow control. */
  readonly measured?: ((control: FlowControl) => QueueDiscipline) | undefined;
  /** Learns of each request that was kept for a while or refused. */
  readonly onStay?: ((stay: FlowStay) => void) | undefined;
}

/**
 * The picker behind flow control: a request waits in `prepare` until it may be placed, and is
 * decided right after. Without a plan for flow control it is the picker alone.
 */
export class ControlledRouter implements Router {
  readonly #options: ControlledRouterOptions;
  #attached: ControlledPicker | undefined;
  #pickerRoute: Router['route'] = (request, options) => this.#picker.route(request, options);
  readonly #keptHere = new KeptRequests(() => this.#picker.shares);
  readonly #letThrough: LetThrough;
  readonly #reports: FlowReports;
  readonly #rounds: FlowRounds;

  constructor(options: ControlledRouterOptions) {
    this.#options = options;
    this.#reports = new FlowReports({ clock: options.clock, onStay: options.onStay });
    this.#letThrough = new LetThrough({
      ...options,
      discipline: () => this.#discipline,
      onRoom: (event) => this.#rounds.lookSoon(event),
      onEvicted: (request, error) => this.#reports.refused(request, error),
    });
    this.#rounds = new FlowRounds({
      ...options,
      picker: () => this.#picker,
      kept: this.#keptHere,
      letThrough: this.#letThrough,
      reports: this.#reports,
    });
  }

  /** Observes the requests of the picker. */
  get observer(): RequestObserver {
    return this.#letThrough.observer;
  }

  /** Observes the requests of other replicas: they count in the shares here, too. */
  get elsewhereObserver(): RequestObserver {
    return this.#letThrough.elsewhereObserver;
  }

  /** Call once, before anything else; `observer` must observe the picker's requests. */
  attach(picker: ControlledPicker): void {
    this.#attached = picker;
    this.#pickerRoute = picker.route.bind(picker);
    const otherPool = (): void => this.#rounds.lookSoon('endpoints');
    picker.pool.observeEndpoints({
      onEndpointAdded: otherPool,
      onEndpointChanged: () => this.#rounds.lookSoon('sample'),
      onEndpointRemoved: otherPool,
    });
  }

  /** From now on. What waits already is kept, as far as the new limits let it. */
  configure(plan: FlowControlPlan | undefined): void {
    this.#rounds.configure(plan);
  }

  /** Requests that wait here. */
  get waiting(): number {
    return this.#keptHere.size;
  }

  /** Requests so far that left flow control without a decision: refused, or their clients gone. */
  get undecided(): number {
    return this.#keptHere.undecided;
  }

  /** Whether there is flow control. */
  get isOn(): boolean {
    return this.#discipline !== undefined;
  }

  /** What waits with the highest priority; undefined where nothing does. */
  get firstBand(): FirstBand | undefined {
    return this.#discipline?.firstBand;
  }

  /** Whether flow control lets nothing through, while requests wait in it. */
  get isHoldingBack(): boolean {
    return this.#discipline?.isHoldingBack === true;
  }

  get #discipline(): QueueDiscipline | undefined {
    return this.#rounds.discipline;
  }

  get #picker(): ControlledPicker {
    invariant(this.#attached !== undefined, 'a picker is attached first');
    return this.#attached;
  }

  get prepare(): Router['prepare'] {
    return this.#discipline === undefined ? this.#picker.prepare : this.#prepare;
  }

  /** Without flow control the picker's own: the way from a message to a score stays short. */
  get route(): Router['route'] {
    return this.#isOff ? this.#pickerRoute : this.#route;
  }

  /** See `route`. What flow control lets go is bound at once, as in the reference. */
  get enqueue(): Router['enqueue'] {
    return this.#isOff ? this.#picker.enqueue : undefined;
  }

  readonly cancel: Router['cancel'] = (placement) => this.#picker.cancel?.(placement);

  get #isOff(): boolean {
    return (
      this.#discipline === undefined &&
      this.#letThrough.unroutedSize + this.#keptHere.droppedSize === 0
    );
  }

  readonly #route = (request: InferenceRequest, options?: RouteOptions): RoutedRequest => {
    const dropped = this.#keptHere.takeError(request);
    if (dropped !== undefined) throw dropped;
    const heldMs = this.#letThrough.heldMs(request) ?? 0;
    const waited = { heldMs, endpoint: undefined, cachedTokens: 0 };
    try {
      return this.#picker.route(request, heldMs > 0 ? { ...options, waited } : options);
    } catch (error) {
      this.#letThrough.release(request);
      throw error;
    } finally {
      this.#letThrough.routed(request);
    }
  };

  /** The client of a request that `prepare` keeps waiting is gone. */
  abandon(request: InferenceRequest): void {
    const kept = this.#keptHere.ofRequest(request);
    if (kept !== undefined) {
      this.#keptHere.abandon(kept);
      this.#reports.left(kept, { kind: 'client-gone' });
      this.#discipline?.remove(kept.waiting, this.#options.clock.now());
      return;
    }
    this.#keptHere.forgetError(request);
    this.#letThrough.abandon(request);
  }

  /** All that flow control keeps waiting, the oldest first. */
  get waitingRequests(): Iterable<Waiting> {
    return this.#keptHere.waiting;
  }

  /** What is known of a request that waits, by our own id or `x-request-id`. */
  stayOf(id: string): FlowStay | undefined {
    const kept = this.#keptHere.find(id);
    return kept && this.#reports.ofWaiting(kept);
  }

  /** Refuses what still waits. */
  stop(): void {
    this.#rounds.stop();
    const error = new RoutingError('shutting-down', PICKER_ENDS);
    for (const kept of this.#keptHere.values()) this.#rounds.drop(kept, error);
  }

  readonly #prepare: Required<Router>['prepare'] = (request, body, ready, options = {}) => {
    const { clock } = this.#options;
    const picker = this.#picker;
    if (this.#discipline === undefined) {
      return picker.prepare?.(request, body, ready, options) ?? false;
    }
    const at = clock.now();
    const candidates = picker.pool.snapshot().length;
    const waiting = { request, since: at, bytes: request.bodyBytes, candidates };
    const share = picker.shares.of(request);
    const kept = new KeptRequest({ waiting, share, body, ready, options });
    this.#keptHere.countArrival();
    this.#reports.add(waiting, this.#discipline, at);
    this.#keptHere.add(kept);
    this.#rounds.look();
    if (kept.isPlaced) return picker.prepare?.(request, body, ready, options) ?? false;
    // `route` throws its error.
    if (this.#keptHere.isDropped(request)) return false;
    kept.beginWaiting(this.#rounds.placeOf(waiting));
    return true;
  };
}
