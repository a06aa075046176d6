import type { Endpoint } from '../framework/endpoint.ts';
import type { Observer, ReplacementReport } from '../framework/plugin.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type {
  BookingRouter,
  Destination,
  RoutedRequest,
  RouteOptions,
  Router,
} from '../framework/routing.ts';
import type { Millis } from '../framework/runtime.ts';
import type { Decision, SchedulingContext } from '../framework/scheduling.ts';
import { ActiveCores, type Challenger } from './active-cores.ts';
import {
  type Cycle,
  type CycleInput,
  type DecidedCycle,
  newCycle,
  noCandidates,
  observedDecision,
  primaryOf,
} from './cycle.ts';
import { Ejector } from './ejection/ejector.ts';
import type { EndpointPickerOptions } from './endpoint-picker-options.ts';
import { EndpointPool } from './endpoint-pool.ts';
import { EngineModel } from './engine-model/engine-model.ts';
import { EventClock } from './event-clock.ts';
import { PluginFaults } from './faults/plugin-faults.ts';
import { Journal } from './journal.ts';
import { Ledger } from './ledger.ts';
import { OpenReservations } from './open-reservations.ts';
import type { PickerPlan } from './plan/picker-plan.ts';
import { type ReserveParts, reserveRequest } from './reserved-request.ts';
import { createSchedulingCore, type SchedulingCore } from './scheduling-core.ts';
import { subsetOf } from './subset.ts';

/**
 * The decision core with running data sources: pool, ledger, plugins and scheduler, one synchronous
 * `route`, no sockets. Decisions and what becomes of them are published to the subscribers.
 */
export class EndpointPicker implements Router, BookingRouter {
  readonly pool: EndpointPool;
  /** What has failed so far. */
  readonly faults: PluginFaults;
  readonly ledger: Ledger = new Ledger();
  /** The requests in flight, where they have a maximum age. */
  readonly reservations: OpenReservations | undefined;
  readonly ejector: Ejector;
  readonly clock: EventClock;
  readonly #options: EndpointPickerOptions;
  readonly #journal: Journal;
  readonly #engineModel = new EngineModel();
  readonly #parts: ReserveParts;
  readonly #cores: ActiveCores;
  #decisions = 0;

  /** Throws what the plan's plugins throw when they are made, such as ConfigError. */
  constructor(options: EndpointPickerOptions) {
    const { runtime, subscribers = [], onFault } = options;
    const faults = new PluginFaults({ now: () => runtime.clock.now(), onFault });
    this.faults = faults;
    this.#journal = new Journal(subscribers, faults);
    this.pool = new EndpointPool(faults);
    this.clock = new EventClock(
      runtime.clock,
      (timer, at) => this.#journal.timerFired(timer, at),
      (error) => faults.report(this, 'timer', error),
    );
    this.#options = { ...options, runtime: { ...runtime, clock: this.clock } };
    const { pool, ledger, clock } = this;
    this.reservations =
      options.reservations &&
      new OpenReservations({ ...options.reservations, clock: runtime.clock });
    const ejector = new Ejector({ pool, onChange: options.onEjection });
    ejector.configure(options.plan.ejection);
    this.ejector = ejector;
    const [engineModel, open] = [this.#engineModel, this.reservations];
    this.#parts = { pool, ledger, clock, engineModel, faults, open, ejector };
    this.pool.observeEndpoints(this.ledger);
    this.pool.observeEndpoints(this.#engineModel);
    this.pool.observeEndpoints(ejector);
    for (const subscriber of subscribers) this.pool.observeEndpoints(subscriber);
    const first = this.#createCore(options.plan);
    for (const observer of first.observers) this.pool.observeEndpoints(observer);
    const lastObserver = this.#engineModel;
    this.#cores = new ActiveCores(first, { pool, subscribers, lastObserver, faults });
  }

  /** Plugin instances that observe requests and endpoints, data sources included. */
  observers(): readonly Observer[] {
    return this.#cores.core.observers;
  }

  /**
   * Decides by another plan from the next request on. Endpoints, ledger and requests in flight
   * stay. So do plugins with the same name, type and parameters in both plans, with all that they
   * have learned. Throws what the plan's plugins throw when they are made, such as ConfigError;
   * then nothing has changed.
   */
  adopt(plan: PickerPlan): void {
    this.clock.setUp((at) => {
      this.#cores.putInCharge(this.#createCore(plan, this.#cores.core));
      this.ejector.configure(plan.ejection);
      this.#journal.adopted(plan, at);
    });
  }

  /**
   * Lets another plan decide the requests that the challenger takes, beside the plan in charge.
   * Both share the plugins that they configure alike. The challenger observes all requests;
   * `decidedBy` has its name. It ends with `withdraw`, or when a plan is adopted. Throws as `adopt`
   * does.
   */
  challenge(plan: PickerPlan, challenger: Challenger): void {
    this.#cores.challenge(this.#createCore(plan, this.#cores.core), challenger);
  }

  withdraw(): void {
    this.#cores.withdraw();
  }

  /** Undefined where the profiles decide. */
  replacement(): ReplacementReport | undefined {
    return this.#cores.core.replacement();
  }

  /** Stops the data sources. Requests in flight can still be reported. */
  stop(): void {
    this.reservations?.stop();
    this.#cores.stop();
  }

  /** As `Router.prepare`; undefined while no plugin prepares anything. */
  get prepare(): Router['prepare'] {
    return this.#cores.prepares ? this.#prepare : undefined;
  }

  /** Decides, publishes the decision and reserves, in one step. Throws RoutingError. */
  route(request: InferenceRequest, options: RouteOptions = {}): RoutedRequest {
    const at = this.clock.begin();
    try {
      let generation = this.#cores.generationFor(request);
      const all = subsetOf(this.pool.snapshot(), options.subset);
      let candidates = this.ejector.admit(all, at);
      for (;;) {
        const cycle = this.#begin({ at, request, options, generation, all, candidates });
        const context = this.#contextOf(cycle);
        const startedAt = this.#options.stopwatch?.now();
        let decision: Decision;
        try {
          decision = generation.core.scheduler.schedule(cycle.candidates, context);
        } catch (error) {
          throw this.#refuse(cycle, error, startedAt);
        }
        this.#measure(cycle, startedAt);
        const wider = this.#widerThan(cycle, decision);
        if (wider !== undefined) {
          candidates = wider;
          continue;
        }
        const { challenger } = generation;
        if (challenger === undefined) return this.#conclude(cycle, decision);
        if (cycle.faults.length === 0)
          return this.#conclude(cycle, { ...decision, decidedBy: challenger.name });
        // The core in charge decides what the challenger has not decided as configured.
        const error = this.#refuse(cycle, this.faults.lastError);
        this.#cores.giveBack(challenger, request, error);
        generation = this.#cores.inCharge;
      }
    } finally {
      this.clock.end();
    }
  }

  /** As `BookingRouter.book`. */
  book(
    request: InferenceRequest,
    destination: Destination,
    options: RouteOptions = {},
  ): RoutedRequest {
    const at = this.clock.begin();
    try {
      const generation = this.#cores.generationFor(request);
      const all = subsetOf(this.pool.snapshot(), options.subset);
      const cycle = this.#begin({ at, request, options, generation, all, candidates: all });
      this.#contextOf(cycle);
      const startedAt = this.#options.stopwatch?.now();
      let decision: Decision;
      try {
        decision = observedDecision(destination, cycle.candidates);
      } catch (error) {
        throw this.#refuse(cycle, error, startedAt);
      }
      this.#measure(cycle, startedAt);
      return this.#conclude(cycle, decision);
    } finally {
      this.clock.end();
    }
  }

  /** What `route` would decide now. Reserves and publishes nothing. Throws without candidates. */
  decide(request: InferenceRequest, options: RouteOptions = {}): DecidedCycle {
    const at = this.clock.begin();
    try {
      const generation = this.#cores.generationFor(request);
      const all = subsetOf(this.pool.snapshot(), options.subset);
      let candidates = this.ejector.admit(all, at);
      for (;;) {
        const cycle = this.#begin({ at, request, options, generation, all, candidates });
        const { context } = cycle;
        if (context === undefined) throw noCandidates(cycle, this.pool);
        const decision = generation.core.scheduler.schedule(candidates, context);
        const wider = this.#widerThan(cycle, decision);
        if (wider === undefined) return Object.assign(cycle, { context, decision });
        candidates = wider;
      }
    } finally {
      this.clock.end();
    }
  }

  /** Reserves for a cycle of `decide`. Publishes nothing. Throws where no endpoint is named. */
  place(cycle: Cycle, decision: Decision): RoutedRequest {
    this.clock.begin();
    try {
      const endpoint = primaryOf(decision, cycle.candidates.length);
      return reserveRequest(cycle, { decision, endpoint }, this.#parts);
    } finally {
      this.clock.end();
    }
  }

  readonly #prepare: Required<Router>['prepare'] = (request, body, ready, { subset } = {}) => {
    const { stopwatch } = this.#options;
    const startedAt = stopwatch?.now() ?? 0;
    const done = (): void => {
      if (stopwatch !== undefined) this.#journal.prepared(request, stopwatch.now() - startedAt);
      ready();
    };
    const all = subset === undefined;
    const candidates = () => {
      const endpoints = this.ejector.remaining(subsetOf(this.pool.snapshot(), subset));
      return { endpoints, all };
    };
    return this.#cores.prepare(
      request,
      (core, coreReady) => core.prepare?.(request, body, candidates, coreReady) ?? false,
      done,
    );
  };

  #createCore(plan: PickerPlan, before?: SchedulingCore): SchedulingCore {
    const coreFacts = [...this.ledger.facts, this.#engineModel.fact];
    const { pool, faults } = this;
    return createSchedulingCore({ ...this.#options, plan, before, pool, faults, coreFacts });
  }

  #begin(input: CycleInput): Cycle {
    this.faults.begin();
    return newCycle(input, this.#decisions++);
  }

  /** More candidates, where the filters left none of those that are not ejected. */
  #widerThan({ candidates, all }: Cycle, { primary }: Decision): readonly Endpoint[] | undefined {
    return primary.kind === 'exhausted' ? this.ejector.widen(candidates, all) : undefined;
  }

  #measure(cycle: Cycle, startedAt: Millis | undefined): void {
    cycle.faults = this.faults.recent;
    if (startedAt === undefined) return;
    cycle.durationMs = (this.#options.stopwatch?.now() ?? startedAt) - startedAt;
  }

  /** The context of the cycle. Publishes and throws where there is no candidate. */
  #contextOf(cycle: Cycle): SchedulingContext {
    if (cycle.context !== undefined) return cycle.context;
    throw this.#refuse(cycle, noCandidates(cycle, this.pool));
  }

  /** Publishes the cycle as refused, and returns what to throw. */
  #refuse(cycle: Cycle, error: unknown, startedAt?: Millis): unknown {
    this.#measure(cycle, startedAt);
    cycle.error = error;
    this.#journal.decided(cycle);
    return error;
  }

  #conclude(cycle: Cycle, decision: Decision): RoutedRequest {
    cycle.decision = decision;
    let endpoint: Endpoint;
    try {
      endpoint = primaryOf(decision, cycle.candidates.length);
    } catch (error) {
      throw this.#refuse(cycle, error);
    }
    this.#journal.decided(cycle);
    return reserveRequest(cycle, { decision, endpoint }, this.#parts);
  }
}
