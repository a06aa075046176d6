import type { FairShares } from '../flow/fair-shares.ts';
import type { Observer } from '../framework/observer.ts';
import type { ChallengerReport, ReplacementReport } from '../framework/replacement.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type {
  BookingRouter,
  Destination,
  Placement,
  RoutedRequest,
  RouteOptions,
  Router,
} from '../framework/routing.ts';
import type { Decision } from '../framework/scheduling.ts';
import type { ConcurrencyLimit } from './capacity/concurrency-limit.ts';
import { ActiveCores, type KeptCores } from './cores/active-cores.ts';
import type { Challenger } from './cores/generation.ts';
import { preparing } from './cores/preparing.ts';
import {
  createSchedulingCore,
  type PrefixSource,
  type SchedulingCore,
} from './cores/scheduling-core.ts';
import { Anywhere } from './cycles/anywhere.ts';
import type { Purpose } from './cycles/candidates.ts';
import type { Cycle, DecidedCycle } from './cycles/cycle.ts';
import { Cycles } from './cycles/cycles.ts';
import { Elsewhere } from './cycles/elsewhere.ts';
import type { Ejector } from './ejection/ejector.ts';
import {
  type EndpointPickerOptions,
  type RunningOptions,
  withClock,
} from './endpoint-picker-options.ts';
import type { EventClock } from './events/event-clock.ts';
import type { PluginFaults } from './faults/plugin-faults.ts';
import type { Ledger } from './load/ledger.ts';
import type { OpenReservations } from './load/open-reservations.ts';
import { type PickerParts, pickerParts } from './picker-parts.ts';
import { PickerRouting } from './picker-routing.ts';
import type { PluginInstances } from './plan/create-plugins.ts';
import type { PickerPlan } from './plan/picker-plan.ts';
import type { EndpointPool } from './pool/endpoint-pool.ts';
import { WaitingRoom, type Waits } from './waiting/waiting-room.ts';

/**
 * The decision core with running data sources: pool, ledger, plugins and scheduler, one synchronous
 * `route`, no sockets. Decisions and what becomes of them are published to the subscribers.
 */
export class EndpointPicker implements Router, BookingRouter {
  readonly pool: EndpointPool;
  /** What has failed so far. */
  readonly faults: PluginFaults;
  readonly ledger: Ledger;
  /** The requests in flight, where they have a maximum age. */
  readonly reservations: OpenReservations | undefined;
  readonly ejector: Ejector;
  /** How many requests may be in flight at each endpoint. */
  readonly limit: ConcurrencyLimit;
  readonly clock: EventClock;
  /** What other replicas of this picker do. */
  readonly elsewhere: Elsewhere;
  /** Decides, publishes the decision and reserves, in one step. Throws RoutingError. */
  readonly route: PickerRouting['route'];
  readonly #options: RunningOptions;
  readonly #parts: PickerParts;
  readonly #cycles: Cycles;
  readonly #room: WaitingRoom;
  readonly #routing: PickerRouting;
  readonly #cores: ActiveCores;
  readonly #preparing: Required<Router>['prepare'];

  /** Throws what the plan's plugins throw when they are made, such as ConfigError. */
  constructor(options: EndpointPickerOptions) {
    const { plan, subscribers = [], elsewhereObservers = [], stopwatch } = options;
    const known = pickerParts(options, this);
    const { pool, faults, ledger, limit, clock, ejector, engineModel } = known;
    this.pool = pool;
    this.faults = faults;
    this.ledger = ledger;
    this.limit = limit;
    this.clock = clock;
    this.ejector = ejector;
    this.reservations = known.open;
    this.#parts = known;
    this.#options = withClock(options, clock);
    this.#room = this.#waitingRoom(options);
    const { backlog, loads, shares } = this.#room;
    // Each request copies these fields, so they are no more than a request needs.
    const { open, cachedCounts } = known;
    const load = { ledger, engineModel, open, backlog };
    const parts = { pool, clock, faults, ejector, cachedCounts, ...load };
    const cores = (): ActiveCores => this.#cores;
    this.elsewhere = new Elsewhere({ ...options, parts, cores });
    this.#cycles = new Cycles({ ...known, cores, parts, loads, stopwatch });
    const anywhere = new Anywhere({ ...known, random: options.runtime.random });
    const routing = { ...known, cores, cycles: this.#cycles, room: this.#room, anywhere };
    this.#routing = new PickerRouting(routing);
    this.route = this.#routing.route;
    for (const each of [ledger, engineModel, ejector, ...subscribers]) pool.observeEndpoints(each);
    const first = this.#createCore(plan);
    for (const observer of first.observers) pool.observeEndpoints(observer);
    const observers = { ownObservers: [engineModel, shares, backlog], elsewhereObservers };
    this.#cores = new ActiveCores(first, { ...parts, subscribers, ...observers });
    this.#preparing = preparing({ ...known, cores: this.#cores, stopwatch });
  }

  /** Plugin instances that observe requests and endpoints, data sources included. */
  observers(): readonly Observer[] {
    return this.#cores.core.observers;
  }

  /** The plugin by which cached tokens are counted; undefined where none is. */
  prefixSource(): PrefixSource | undefined {
    return this.#cores.core.prefixSource;
  }

  /** The plugins in charge, by name. */
  plugins(): PluginInstances {
    return this.#cores.core.instances;
  }

  /**
   * Decides by another plan from the next request on. Endpoints, ledger and requests in flight
   * stay. So do plugins with the same name, type and parameters in both plans, with all that they
   * have learned. Throws what the plan's plugins throw when they are made, such as ConfigError;
   * then nothing has changed.
   */
  adopt(plan: PickerPlan): void {
    this.clock.setUp((at) => {
      const undecided = this.#cores.putInCharge(this.#createCore(plan, this.#cores.core));
      this.ejector.configure(plan.ejection);
      this.limit.configure(plan.capacity);
      this.#room.configure(plan.hold);
      this.#parts.journal.adopted(plan, at, undecided);
    });
  }

  /** Keeps what decides now for requests that it still decides after the next change. */
  keepCores(): KeptCores {
    return this.#cores.keep();
  }

  /**
   * Lets another plan decide the requests that the challenger takes, beside the plan in charge.
   * Both share the plugins that they configure alike. The challenger observes all requests;
   * `decidedBy` has its name. It ends with `withdraw`, or when a plan is adopted. Throws as `adopt`
   * does.
   */
  challenge(plan: PickerPlan, challenger: Challenger): void {
    const core = this.#createCore(plan, this.#cores.core);
    const undecided = this.#cores.challenge(core, challenger);
    this.#parts.journal.challenged(plan, challenger.name, this.clock.now(), undecided);
  }

  withdraw(): void {
    if (this.#cores.challenger === undefined) return;
    const undecided = this.#cores.withdraw();
    this.#parts.journal.withdrawn(this.clock.now(), undecided);
  }

  /** What flows have got, and what they have waiting. */
  get shares(): FairShares {
    return this.#room.shares;
  }

  /** The requests that wait for their endpoint, and the bytes of their bodies. */
  get waiting(): { readonly requests: number; readonly bytes: number } {
    return this.#room.waiting;
  }

  /** The requests that wait, and what waits for each endpoint. */
  get waits(): Waits {
    return this.#room.waits;
  }

  /** Undefined where the profiles decide. */
  replacement(): ReplacementReport | undefined {
    return this.#cores.core.replacement();
  }

  /** The report of `replacement` for the challenger; undefined also where there is none. */
  challengerReplacement(): ChallengerReport | undefined {
    const { name, core } = this.#cores.challenger ?? {};
    const report = core?.replacement();
    return report && { ...report, challenger: name ?? '' };
  }

  /** Stops the data sources. Requests in flight can still be reported. */
  stop(): void {
    this.reservations?.stop();
    this.elsewhere.stop();
    this.#room.stop();
    this.#cores.stop();
  }

  /** See `Router.prepare`; undefined while no plugin prepares anything. */
  get prepare(): Router['prepare'] {
    return this.#cores.prepares ? this.#preparing : undefined;
  }

  /** See `Router.enqueue`; undefined while no request waits: then `route` is called. */
  get enqueue(): Router['enqueue'] {
    return this.#room.isOn ? this.#routing.enqueue : undefined;
  }

  /** The client of a request that waits is gone: its placement is not called any more. */
  cancel(placement: Placement): void {
    this.#room.cancel(placement);
  }

  /** See `BookingRouter.book`. */
  book(
    request: InferenceRequest,
    destination: Destination,
    options: RouteOptions = {},
  ): RoutedRequest {
    return this.#cycles.book(request, destination, options);
  }

  /**
   * What would be decided now, by default as `route` does. Reserves and publishes nothing. Throws
   * without candidates.
   */
  decideOnly(
    request: InferenceRequest,
    options: RouteOptions = {},
    purpose: Purpose = 'placing',
  ): DecidedCycle {
    return this.#cycles.decideOnly(request, options, purpose);
  }

  /** A cycle of a request that something else has decided, or that only waited. */
  beginOnly(request: InferenceRequest, options: RouteOptions, purpose: Purpose): Cycle {
    return this.#cycles.beginOnly(request, options, purpose);
  }

  /** Reserves for a cycle of `decideOnly` or `beginOnly`. Publishes nothing. Throws where no endpoint is named. */
  reserveOnly(cycle: Cycle, decision: Decision): RoutedRequest {
    return this.#cycles.reserveOnly(cycle, decision);
  }

  /** It is made before what decides, which it calls later. */
  #waitingRoom({ plan, runtime }: EndpointPickerOptions): WaitingRoom {
    const room = new WaitingRoom({
      ...this.#parts,
      timers: runtime.clock,
      decideOnly: ({ request }, asked) => this.#cycles.decideOnly(request, asked, 'waiting'),
      placeOrDecideAgain: (cycle) => this.#routing.placeOrDecideAgain(cycle),
      refused: (cycle, error) => this.#cycles.refused(cycle, error),
      onLeft: (request, waitedMs) => this.#parts.journal.left(request, waitedMs),
      route: ({ request }, asked) => this.route(request, asked),
      onError: (error) => this.faults.report(this, 'placement', error),
    });
    room.configure(plan.hold);
    return room;
  }

  #createCore(plan: PickerPlan, before?: SchedulingCore): SchedulingCore {
    const coreFacts = [...this.ledger.facts, this.#room.fact, this.#parts.engineModel.fact];
    const { pool, faults } = this;
    return createSchedulingCore({ ...this.#options, plan, before, pool, faults, coreFacts });
  }
}
