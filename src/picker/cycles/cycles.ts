import type { Endpoint } from '../../framework/endpoint.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Destination, RoutedRequest, RouteOptions } from '../../framework/routing.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { Decision, SchedulingContext } from '../../framework/scheduling.ts';
import type { ActiveCores } from '../cores/active-cores.ts';
import type { Journal } from '../events/journal.ts';
import type { HeldLoads } from '../load/held-loads.ts';
import type { Ledger } from '../load/ledger.ts';
import { subsetOf } from '../pool/subset.ts';
import type { CandidateRules, Purpose } from './candidates.ts';
import {
  type Cycle,
  type CycleInput,
  type DecidedCycle,
  newCycle,
  noCandidates,
  OBSERVED,
  observedDecision,
  primaryOf,
} from './cycle.ts';
import { expectationOf, type ReserveParts, reserveRequest } from './place-request.ts';
import { withFallbacks } from './trial-fallbacks.ts';

export interface CyclesOptions {
  readonly journal: Journal;
  /** Asked at each call: the cores are made after this. */
  readonly cores: () => ActiveCores;
  readonly parts: ReserveParts;
  readonly loads: HeldLoads;
  readonly ledger: Pick<Ledger, 'lost'>;
  readonly candidates: CandidateRules;
  readonly stopwatch?: Pick<Clock, 'now'> | undefined;
}

/** What all decisions have in common: they begin, are measured, published, and reserve. */
export class Cycles {
  readonly #options: CyclesOptions;
  #decisions = 0;

  constructor(options: CyclesOptions) {
    this.#options = options;
  }

  /** The scheduler is asked next, where there is a candidate. */
  begin(input: CycleInput): Cycle {
    const { parts, loads, stopwatch } = this.#options;
    parts.faults.begin();
    loads.begin(input.request, input.options);
    const cycle = newCycle(input);
    // Noted now: when the decision is published, the request may not wait any more, and another
    // flow may have most pending.
    cycle.crowdedOut = loads.isCrowdedOut(input.request);
    if (cycle.context !== undefined) cycle.startedAt = stopwatch?.now();
    return cycle;
  }

  /** More candidates, where the filters left none of those that were tried. */
  widerThan(
    { candidates, all }: Cycle,
    { primary }: Decision,
    purpose: Purpose,
  ): readonly Endpoint[] | undefined {
    if (primary.kind !== 'exhausted') return undefined;
    return this.#options.candidates.wider(candidates, all, purpose);
  }

  /** The scheduler has answered, or thrown: how long it took is noted the first time. */
  measure(cycle: Cycle): void {
    cycle.faults = this.#options.parts.faults.recent;
    const { startedAt, durationMs } = cycle;
    if (startedAt === undefined || durationMs !== undefined) return;
    cycle.durationMs = (this.#options.stopwatch?.now() ?? startedAt) - startedAt;
  }

  /** The context of the cycle. Publishes the refusal and throws where there is no candidate. */
  contextOrRefuse(cycle: Cycle): SchedulingContext {
    if (cycle.context !== undefined) return cycle.context;
    throw this.refused(cycle, noCandidates(cycle, this.#options.parts.pool));
  }

  /** Publishes the cycle as refused, by its scheduler or before it, and returns what to throw. */
  refused(cycle: Cycle, error: unknown, by: string | undefined = schedulerOf(cycle)): unknown {
    this.measure(cycle);
    cycle.decision = undefined;
    return this.#refusedAsDecided(cycle, error, by);
  }

  /** Publishes the decision and reserves by it. Throws where it names no endpoint. */
  publishAndReserve(cycle: Cycle, decision: Decision): RoutedRequest {
    cycle.decision = decision;
    let endpoint: Endpoint;
    try {
      endpoint = primaryOf(decision, cycle.candidates.length);
    } catch (error) {
      this.measure(cycle);
      throw this.#refusedAsDecided(cycle, error, decision.decidedBy);
    }
    cycle.decision = this.#withFallbacks(cycle, decision);
    cycle.lostRequests = this.#options.ledger.lost(endpoint);
    if (cycle.generation.challenger !== undefined) {
      cycle.expected = expectationOf(cycle, { decision, endpoint });
    }
    this.#publish(cycle);
    return reserveRequest(cycle, { decision: cycle.decision, endpoint }, this.#options.parts);
  }

  /** See `BookingRouter.book`. */
  book(request: InferenceRequest, destination: Destination, options: RouteOptions): RoutedRequest {
    const { cores, parts } = this.#options;
    const at = parts.clock.begin();
    try {
      const generation = cores().generationFor(request);
      const all = subsetOf(parts.pool.snapshot(), options.subset);
      const cycle = this.begin({ at, request, options, generation, all, candidates: all });
      this.contextOrRefuse(cycle);
      let decision: Decision;
      try {
        decision = observedDecision(destination, cycle.candidates);
      } catch (error) {
        throw this.refused(cycle, error, OBSERVED);
      }
      this.measure(cycle);
      return this.publishAndReserve(cycle, decision);
    } finally {
      parts.clock.end();
    }
  }

  /**
   * What would be decided now, for a request that may wait or is placed. Reserves and publishes
   * nothing. Throws without candidates.
   */
  decideOnly(request: InferenceRequest, options: RouteOptions, purpose: Purpose): DecidedCycle {
    const { cores, parts, candidates: from } = this.#options;
    const at = parts.clock.begin();
    try {
      const generation = cores().generationFor(request);
      const all = subsetOf(parts.pool.snapshot(), options.subset);
      let candidates = purpose === 'waiting' ? from.toWaitFor(all) : from.offerForPlacing(all, at);
      for (;;) {
        const cycle = this.begin({ at, request, options, generation, all, candidates });
        const { context } = cycle;
        if (context === undefined) throw noCandidates(cycle, parts.pool);
        const decision = generation.core.scheduler.schedule(candidates, context);
        this.measure(cycle);
        const wider = this.widerThan(cycle, decision, purpose);
        if (wider === undefined) return Object.assign(cycle, { context, decision });
        candidates = wider;
      }
    } finally {
      parts.clock.end();
    }
  }

  /**
   * A cycle of a request that something else has decided, or that only waited: no profile runs,
   * because plugins learn from what they have scored.
   */
  beginOnly(request: InferenceRequest, options: RouteOptions, purpose: Purpose): Cycle {
    const { cores, parts, candidates: from } = this.#options;
    const at = parts.clock.begin();
    try {
      const generation = cores().generationFor(request);
      const all = subsetOf(parts.pool.snapshot(), options.subset);
      const candidates =
        purpose === 'waiting' ? from.toWaitFor(all) : from.offerForPlacing(all, at);
      return this.begin({ at, request, options, generation, all, candidates });
    } finally {
      parts.clock.end();
    }
  }

  /** Reserves for a cycle of `decideOnly` or `beginOnly`. Publishes nothing. Throws where no endpoint is named. */
  reserveOnly(cycle: Cycle, decision: Decision): RoutedRequest {
    const { parts } = this.#options;
    parts.clock.begin();
    try {
      const endpoint = primaryOf(decision, cycle.candidates.length);
      cycle.number = this.#decisions++;
      // Plugins learn from this decision what they learned when it was made while serving.
      const placed = this.#withFallbacks(cycle, decision);
      return reserveRequest(cycle, { decision: placed, endpoint }, parts);
    } finally {
      parts.clock.end();
    }
  }

  #withFallbacks(cycle: Cycle, decision: Decision): Decision {
    const others = this.#options.candidates.besidesTrial(cycle.candidates, cycle.all);
    cycle.besideTrial = others.length;
    return others.length > 0 ? withFallbacks(cycle, decision, others) : decision;
  }

  #refusedAsDecided(cycle: Cycle, error: unknown, by: string | undefined): unknown {
    cycle.error = error;
    cycle.refusedBy = by;
    this.#publish(cycle);
    return error;
  }

  #publish(cycle: Cycle): void {
    const { journal, loads, cores, candidates } = this.#options;
    cycle.adoptionsAgo = cores().adoptionsSince(cycle.generation);
    cycle.changesAgo = cores().changesSince(cycle.generation);
    cycle.heldBefore = loads.snapshot(cycle.request);
    if (cycle.besideTrial === 0) {
      cycle.leftOut = candidates.leftOut(cycle.candidates, cycle.all);
    }
    cycle.number = this.#decisions++;
    journal.decided(cycle);
  }
}

/** The challenger whose scheduler was asked; without candidates none is. */
function schedulerOf({ generation, context }: Cycle): string | undefined {
  return context === undefined ? undefined : generation.challenger?.name;
}
