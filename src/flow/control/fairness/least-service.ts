import type { Millis } from '../../../framework/runtime.ts';
import type { Fairness } from './fairness.ts';
import type { Flow, Item } from './flow.ts';
import { type Program, Programs, type ProgramsConfig } from './programs.ts';

export interface LeastServiceWeights {
  readonly service: number;
  readonly headWait: number;
}

/** A flow that waits, and its program. */
interface Candidate {
  readonly flow: Flow;
  program: Program;
  /** The service of the program when it was last compared. */
  service: number;
}

/**
 * Prefers programs that got little service of late, and those whose first request has waited long.
 * Both count from 0 to 1 among the programs that wait, so a pick compares all of them.
 */
export function leastAttainedService(
  config: ProgramsConfig,
  weights: LeastServiceWeights,
): Fairness {
  const programs = new Programs(config);
  return {
    programs,
    forBand() {
      const candidates = new Map<Flow, Candidate>();
      let dropped = programs.dropped;
      return {
        changed(flow) {
          if (flow.first === undefined) candidates.delete(flow);
          else if (!candidates.has(flow)) {
            const program = programs.of(flow.id, flow.first.waiting.since);
            candidates.set(flow, { flow, program, service: 0 });
          }
        },
        next(at) {
          if (dropped !== programs.dropped) {
            for (const each of candidates.values()) each.program = programs.of(each.flow.id, at);
            dropped = programs.dropped;
          }
          return leastServed(candidates, programs, weights, at);
        },
        placed: ({ flow, waiting }, at) => programs.placed(flow.id, at - waiting.since, at),
        placedElsewhere: (request, at) => programs.placedElsewhere(request, at),
      };
    },
    ended: (request, served, at) => programs.ended(request, served, at),
  };
}

/** It allocates nothing, because with thousands of flows each pick delays requests. */
function leastServed(
  candidates: ReadonlyMap<Flow, Candidate>,
  programs: Programs,
  weights: LeastServiceWeights,
  at: Millis,
): Flow | undefined {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  let [oldest, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const each of candidates.values()) {
    const { since } = (each.flow.first as Item).waiting;
    const service = programs.serviceAt(each.program, at);
    each.service = service;
    least = Math.min(least, service);
    most = Math.max(most, service);
    oldest = Math.min(oldest, since);
    newest = Math.max(newest, since);
  }
  let best: Flow | undefined;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const { flow, service } of candidates.values()) {
    const { number, waiting } = flow.first as Item;
    const score =
      weights.service * (1 - share(service - least, most - least)) +
      weights.headWait * share(newest - waiting.since, newest - oldest);
    const isBetter =
      score > bestScore ||
      (score === bestScore && number < (best?.first?.number ?? Number.POSITIVE_INFINITY));
    if (isBetter) {
      best = flow;
      bestScore = score;
    }
  }
  return best;
}

/** A half where all are equal, so that the other measure decides. */
function share(value: number, range: number): number {
  return range > 0 ? value / range : 0.5;
}
