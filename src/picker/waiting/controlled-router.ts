import type { FlowControl } from '../../flow/control/flow-control.ts';
import type { FlowControlPlan } from '../../flow/control/flow-control-plan.ts';
import type { QueueDiscipline, Waiting } from '../../flow/discipline.ts';
import { invariant, RoutingError } from '../../framework/error.ts';
import type { RequestObserver } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { FirstBand, RoutedRequest, RouteOptions, Router } from '../../framework/routing.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { sameParameters } from '../plan/same-parameters.ts';
import { type ControlledPicker, flowControlOver } from './controlled-picker.ts';
import { PICKER_ENDS } from './departures.ts';
import { FlowReports } from './flow-reports.ts';
import type { FlowEvent, FlowStay } from './flow-stay.ts';
import { KeptRequest } from './kept-request.ts';
import { KeptRequests } from './kept-requests.ts';
import { LetThrough } from './let-through.ts';
import { NextLook } from './next-look.ts';

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

/** What waits is looked at so often, also where no event is seen: samples age without one. */
const LOOK_MS: Millis = 10;

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
  #plan: FlowControlPlan | undefined;
  #control: FlowControl | undefined;
  /** Flow control with its meters. */
  #discipline: QueueDiscipline | undefined;
  readonly #next: NextLook;
  readonly #reports: FlowReports;
  #isBusy = false;

  constructor(options: ControlledRouterOptions) {
    this.#options = options;
    this.#next = new NextLook(options.clock, () => this.#look());
    this.#reports = new FlowReports({ clock: options.clock, onStay: options.onStay });
    this.#letThrough = new LetThrough({
      ...options,
      discipline: () => this.#discipline,
      onRoom: (event) => this.#lookSoon(event),
      onEvicted: (request, error) => this.#reports.refused(request, error),
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
    const otherPool = (): void => this.#lookSoon('endpoints');
    picker.pool.observeEndpoints({
      onEndpointAdded: otherPool,
      onEndpointChanged: () => this.#lookSoon('sample'),
      onEndpointRemoved: otherPool,
    });
  }

  /** From now on. What waits already is kept, as far as the new limits let it. */
  configure(plan: FlowControlPlan | undefined): void {
    if (plan === this.#plan || (plan && this.#plan && sameParameters(plan, this.#plan))) return;
    const { measured, objectives } = this.#options;
    const picker = this.#picker;
    this.#plan = plan;
    if (plan === undefined) this.#placeAll();
    this.#discipline?.replaced();
    const [lacking, former] = [this.#letThrough, this.#control];
    const control = plan && flowControlOver(picker, { plan, lacking, objectives, former });
    this.#control = control;
    this.#discipline = control && (measured?.(control) ?? control);
    // A copy, because a request that goes on may bring others that are not to be added again.
    const keptHere = [...this.#keptHere.values()];
    for (const kept of keptHere) this.#addAgain(kept);
    if (control !== undefined) this.#reports.saw('configuration');
    this.#look();
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
    this.#next.cancel();
    const error = new RoutingError('shutting-down', PICKER_ENDS);
    for (const kept of this.#keptHere.values()) this.#drop(kept, error);
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
    this.#look();
    if (kept.isPlaced) return picker.prepare?.(request, body, ready, options) ?? false;
    // `route` throws its error.
    if (this.#keptHere.isDropped(request)) return false;
    kept.beginWaiting(this.#control?.placeOf(waiting));
    return true;
  };

  /** Places and drops what may be, and what must be. */
  #look(): void {
    const discipline = this.#discipline;
    if (this.#isBusy || discipline === undefined) return;
    this.#isBusy = true;
    this.#reports.beginLook();
    const at = this.#options.clock.now();
    try {
      for (const { waiting, error } of discipline.expired(at)) {
        this.#drop(this.#keptHere.of(waiting), error);
      }
      for (const { requests } of discipline.ready(at)) {
        for (const waiting of requests) this.#place(waiting, at);
      }
      for (const victim of discipline.evict?.(at) ?? []) this.#letThrough.evict(victim);
    } finally {
      this.#isBusy = false;
    }
    if (this.#keptHere.size > 0) this.#next.after(LOOK_MS);
  }

  #place(waiting: Waiting, at: Millis): void {
    const kept = this.#keptHere.of(waiting);
    const isNew = kept?.isNew === true;
    const place = isNew ? undefined : this.#control?.placeOf(waiting);
    this.#discipline?.placed(waiting, at);
    if (kept === undefined) return;
    this.#keptHere.placed(kept);
    if (!isNew) this.#reports.letGo(kept, place);
    const heldMs = isNew ? 0 : at - waiting.since;
    this.#letThrough.add(waiting.request, { refuse: kept.options.refuse, heldMs });
    if (!isNew) this.#goOn(kept);
  }

  /**
   * The picker may have to prepare something, too. The stream asks `route` then, at once or from
   * another thread, or calls `abandon`.
   */
  #goOn({ waiting: { request }, body, ready, options }: KeptRequest): void {
    const picker = this.#picker;
    if (picker.prepare?.(request, body, ready, options) === true) return;
    ready();
  }

  /** Without flow control nothing waits here: all leave it as those that are placed. */
  #placeAll(): void {
    const at = this.#options.clock.now();
    for (const { waiting } of this.#keptHere.values()) this.#discipline?.placed(waiting, at);
  }

  #drop(kept: KeptRequest | undefined, error: RoutingError): void {
    if (kept === undefined) return;
    this.#reports.left(kept, { kind: 'refused', error });
    this.#keptHere.drop(kept, error);
  }

  #addAgain(kept: KeptRequest): void {
    const at = this.#options.clock.now();
    if (this.#discipline === undefined) {
      this.#keptHere.placed(kept);
      this.#reports.letGo(kept, undefined);
      this.#goOn(kept);
      return;
    }
    try {
      this.#discipline.add(kept.waiting, at);
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
      this.#drop(kept, error);
    }
  }

  #lookSoon(event: FlowEvent): void {
    if (this.#keptHere.size === 0) return;
    this.#reports.saw(event);
    this.#next.after(0);
  }
}
