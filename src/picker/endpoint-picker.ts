import type { Endpoint } from '../framework/endpoint.ts';
import { RoutingError } from '../framework/error.ts';
import type { Observer, ReplacementReport } from '../framework/plugin.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type {
  BookingRouter,
  Destination,
  RoutedRequest,
  RouteOptions,
  Router,
} from '../framework/routing.ts';
import type { Clock, Millis, Runtime } from '../framework/runtime.ts';
import type { Decision, SchedulingContext } from '../framework/scheduling.ts';
import { ActiveCores, type Challenger, type Generation } from './active-cores.ts';
import {
  type Cycle,
  type DecidedCycle,
  noCandidates,
  observedDecision,
  primaryOf,
} from './cycle.ts';
import { EndpointPool } from './endpoint-pool.ts';
import { EngineModel } from './engine-model/engine-model.ts';
import { EventClock } from './event-clock.ts';
import type { JournalSubscriber } from './journal.ts';
import { Ledger } from './ledger.ts';
import type { PluginWrap } from './plan/instantiate.ts';
import type { PickerPlan } from './plan/picker-plan.ts';
import { type ReserveParts, reserveRequest } from './reserved-request.ts';
import { createSchedulingCore, type SchedulingCore } from './scheduling-core.ts';
import { subsetOf } from './subset.ts';

export interface EndpointPickerOptions {
  readonly plan: PickerPlan;
  readonly runtime: Runtime;
  /** They receive everything that happens, in order, before the plugins. */
  readonly subscribers?: readonly JournalSubscriber[];
  /** Wraps each plugin where it is used, to measure it. */
  readonly wrapPlugin?: PluginWrap;
  /** Measures scheduling and waiting times; without it nothing is measured. */
  readonly stopwatch?: Pick<Clock, 'now'>;
  /** The real runtime for schedulers in other processes, where `runtime` is not real. */
  readonly schedulerRuntime?: Runtime;
}

/**
 * The decision core with running data sources: pool, ledger, plugins and scheduler, one synchronous
 * `route`, no sockets. Decisions and what becomes of them are published to the subscribers.
 */
export class EndpointPicker implements Router, BookingRouter {
  readonly pool: EndpointPool = new EndpointPool();
  readonly ledger: Ledger = new Ledger();
  readonly clock: EventClock;
  readonly #options: EndpointPickerOptions;
  readonly #subscribers: readonly JournalSubscriber[];
  readonly #engineModel = new EngineModel();
  readonly #parts: ReserveParts;
  readonly #cores: ActiveCores;
  #decisions = 0;

  /** Throws what the plan's plugins throw when they are made, such as ConfigError. */
  constructor(options: EndpointPickerOptions) {
    const { runtime, subscribers = [] } = options;
    this.#subscribers = subscribers;
    this.clock = new EventClock(runtime.clock, (timer, at) => {
      for (const subscriber of subscribers) subscriber.onTimer?.(timer, at);
    });
    this.#options = { ...options, runtime: { ...runtime, clock: this.clock } };
    const { pool, ledger, clock } = this;
    this.#parts = { pool, ledger, clock, engineModel: this.#engineModel, subscribers };
    this.pool.observeEndpoints(this.ledger);
    this.pool.observeEndpoints(this.#engineModel);
    for (const subscriber of subscribers) this.pool.observeEndpoints(subscriber);
    const first = this.#createCore(options.plan);
    for (const observer of first.observers) this.pool.observeEndpoints(observer);
    this.#cores = new ActiveCores(first, this.pool, this.#engineModel);
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
      for (const subscriber of this.#subscribers) subscriber.onAdopted?.(plan, at);
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
      const cycle = this.#cycleOf(request, options, at);
      const context = this.#contextOf(cycle);
      const { core, challenger } = cycle.generation;
      const startedAt = this.#options.stopwatch?.now();
      try {
        cycle.decision = core.scheduler.schedule(cycle.candidates, context);
      } catch (error) {
        const refused = this.#refuse(cycle, error, startedAt);
        if (challenger === undefined || error instanceof RoutingError) throw refused;
        // The core in charge decides what the challenger failed to decide.
        challenger.onThrown(request, error);
        return this.route(request, options);
      }
      this.#measure(cycle, startedAt);
      if (challenger !== undefined)
        cycle.decision = { ...cycle.decision, decidedBy: challenger.name };
      return this.#conclude(cycle, cycle.decision);
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
      const cycle = this.#cycleOf(request, options, at);
      this.#contextOf(cycle);
      const startedAt = this.#options.stopwatch?.now();
      try {
        cycle.decision = observedDecision(destination, cycle.candidates);
      } catch (error) {
        throw this.#refuse(cycle, error, startedAt);
      }
      this.#measure(cycle, startedAt);
      return this.#conclude(cycle, cycle.decision);
    } finally {
      this.clock.end();
    }
  }

  /** What `route` would decide now. Reserves and publishes nothing. Throws without candidates. */
  decide(request: InferenceRequest, options: RouteOptions = {}): DecidedCycle {
    const at = this.clock.begin();
    try {
      const cycle = this.#cycleOf(request, options, at);
      const { context, generation, candidates } = cycle;
      if (context === undefined) throw noCandidates(cycle, this.pool);
      return Object.assign(cycle, {
        context,
        decision: generation.core.scheduler.schedule(candidates, context),
      });
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
      if (stopwatch !== undefined) {
        const waitedMs = stopwatch.now() - startedAt;
        for (const subscriber of this.#subscribers) subscriber.onPrepared?.(request, waitedMs);
      }
      ready();
    };
    const all = subset === undefined;
    const candidates = () => ({ endpoints: subsetOf(this.pool.snapshot(), subset), all });
    return this.#cores.prepare(
      request,
      (core, coreReady) => core.prepare?.(request, body, candidates, coreReady) ?? false,
      done,
    );
  };

  #createCore(plan: PickerPlan, before?: SchedulingCore): SchedulingCore {
    const coreFacts = [...this.ledger.facts, this.#engineModel.fact];
    return createSchedulingCore({ ...this.#options, plan, before, pool: this.pool, coreFacts });
  }

  #cycleOf(request: InferenceRequest, options: RouteOptions, at: Millis): Cycle {
    const candidates = subsetOf(this.pool.snapshot(), options.subset);
    const generation: Generation = this.#cores.generationFor(request);
    const context =
      candidates.length === 0 ? undefined : generation.core.contextOf(request, candidates, at);
    return {
      number: this.#decisions++,
      at,
      request,
      options,
      candidates,
      generation,
      context,
      decision: undefined,
      error: undefined,
      durationMs: undefined,
    };
  }

  #measure(cycle: Cycle, startedAt: Millis | undefined): void {
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
    this.#publish(cycle);
    return error;
  }

  #publish(cycle: Cycle): void {
    for (const subscriber of this.#subscribers) subscriber.onDecision?.(cycle);
  }

  #conclude(cycle: Cycle, decision: Decision): RoutedRequest {
    let endpoint: Endpoint;
    try {
      endpoint = primaryOf(decision, cycle.candidates.length);
    } catch (error) {
      throw this.#refuse(cycle, error);
    }
    this.#publish(cycle);
    return reserveRequest(cycle, { decision, endpoint }, this.#parts);
  }
}
