import type { InferenceRequest } from '../framework/request.ts';
import type { RoutedRequest, RouteOptions, Router } from '../framework/routing.ts';
import type { Decision } from '../framework/scheduling.ts';
import type { ActiveCores } from './cores/active-cores.ts';
import type { Anywhere } from './cycles/anywhere.ts';
import type { Cycle } from './cycles/cycle.ts';
import type { Cycles } from './cycles/cycles.ts';
import type { PickerParts } from './picker-parts.ts';
import { subsetOf } from './pool/subset.ts';
import type { Arrival } from './waiting/arrival.ts';
import type { WaitingRoom } from './waiting/waiting-room.ts';

interface PickerRoutingParts extends Pick<PickerParts, 'candidates' | 'clock' | 'faults' | 'pool'> {
  /** Asked at each call: the cores are made after this. */
  readonly cores: () => ActiveCores;
  readonly cycles: Cycles;
  readonly room: WaitingRoom;
  readonly anywhere: Anywhere;
}

/**
 * The way of a request to its endpoint: decided, published and reserved in one event, or kept
 * waiting.
 */
export class PickerRouting {
  readonly #parts: PickerRoutingParts;

  constructor(parts: PickerRoutingParts) {
    this.#parts = parts;
  }

  /** Decides, publishes the decision and reserves, in one step. Throws RoutingError. */
  readonly route = (request: InferenceRequest, options: RouteOptions = {}): RoutedRequest => {
    const { anywhere, candidates: rules, clock, cycles, faults, pool } = this.#parts;
    if (options.anywhere === true) return anywhere.route(request, options.subset);
    const cores = this.#parts.cores();
    const at = clock.begin();
    try {
      let generation = cores.generationFor(request);
      const all = subsetOf(pool.snapshot(), options.subset);
      let candidates = rules.offerForPlacing(all, at);
      for (;;) {
        const cycle = cycles.begin({ at, request, options, generation, all, candidates });
        const context = cycles.contextOrRefuse(cycle);
        let decision: Decision;
        try {
          decision = generation.core.scheduler.schedule(cycle.candidates, context);
        } catch (error) {
          throw cycles.refused(cycle, error);
        }
        cycles.measure(cycle);
        const wider = cycles.widerThan(cycle, decision, 'placing');
        const { challenger } = generation;
        if (wider !== undefined) candidates = wider;
        else if (challenger === undefined) return cycles.publishAndReserve(cycle, decision);
        else if (cycle.faults.length === 0) {
          return cycles.publishAndReserve(cycle, { ...decision, decidedBy: challenger.name });
        } else {
          // The core in charge decides what the challenger has not decided as configured.
          const error = cycles.refused(cycle, faults.lastError);
          cores.giveBack(challenger, request, error);
          generation = cores.inCharge;
        }
      }
    } finally {
      clock.end();
    }
  };

  /** It calls the scheduler itself, as `route` does: the way from a message to a score is short. */
  readonly enqueue: Required<Router>['enqueue'] = (request, options, placement) => {
    const { candidates: rules, clock, cycles, pool, room } = this.#parts;
    if (options.anywhere === true) return this.route(request, options);
    let arrival: Arrival | undefined;
    const at = clock.begin();
    try {
      const generation = this.#parts.cores().generationFor(request);
      if (generation.challenger !== undefined) return this.route(request, options);
      const all = subsetOf(pool.snapshot(), options.subset);
      const candidates = rules.toWaitFor(all);
      const cycle = cycles.begin({ at, request, options, generation, all, candidates });
      const context = cycles.contextOrRefuse(cycle);
      try {
        cycle.decision = generation.core.scheduler.schedule(cycle.candidates, context);
        cycles.measure(cycle);
        // An endpoint that is full may be the only one that the filters leave.
        const isExhausted = cycle.decision.primary.kind === 'exhausted';
        const waiting = isExhausted ? cycles.decideOnly(request, options, 'waiting') : cycle;
        arrival = room.takeIn(waiting, placement);
      } catch (error) {
        throw cycles.refused(cycle, error);
      }
      if (arrival === undefined) return this.placeOrDecideAgain(cycle);
    } finally {
      // What waits is looked at here, and the time has moved on.
      clock.end();
    }
    return arrival.returns();
  };

  /** Places by what was decided in this event, unless ejections ask for another decision. */
  placeOrDecideAgain(cycle: Cycle): RoutedRequest {
    const { at, request, options, generation, all, candidates, decision } = cycle;
    const isFinal =
      decision !== undefined &&
      decision.primary.kind !== 'exhausted' &&
      generation.challenger === undefined &&
      !this.#parts.candidates.areOthers(candidates, all, at);
    return isFinal
      ? this.#parts.cycles.publishAndReserve(cycle, decision)
      : this.route(request, options);
  }
}
