import type { Millis } from '../../../framework/runtime.ts';
import type { Fairness } from './fairness.ts';
import type { Flow, Item } from './flow.ts';
import { Programs, type ProgramsConfig } from './programs.ts';

export interface LeastServiceWeights {
  readonly service: number;
  readonly headWait: number;
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
      const flows = new Set<Flow>();
      return {
        changed(flow) {
          if (flow.first === undefined) flows.delete(flow);
          else flows.add(flow);
        },
        next: (at) => leastServed(flows, programs, weights, at),
        placed: ({ flow, waiting }, at) => programs.placed(flow.id, at - waiting.since, at),
        placedElsewhere: (request, at) => programs.placedElsewhere(request, at),
      };
    },
    ended: (request, served, at) => programs.ended(request, served, at),
  };
}

function leastServed(
  flows: ReadonlySet<Flow>,
  programs: Programs,
  weights: LeastServiceWeights,
  at: Millis,
): Flow | undefined {
  const service = new Map<Flow, number>();
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  let [oldest, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const flow of flows) {
    const { since } = (flow.first as Item).waiting;
    const got = programs.serviceAt(programs.of(flow.id, at), at);
    service.set(flow, got);
    [least, most] = [Math.min(least, got), Math.max(most, got)];
    [oldest, newest] = [Math.min(oldest, since), Math.max(newest, since)];
  }
  let best: Flow | undefined;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const [flow, got] of service) {
    const { number, waiting } = flow.first as Item;
    const score =
      weights.service * (1 - share(got - least, most - least)) +
      weights.headWait * share(newest - waiting.since, newest - oldest);
    const isBetter =
      score > bestScore ||
      (score === bestScore && number < (best?.first?.number ?? Number.POSITIVE_INFINITY));
    if (isBetter) [best, bestScore] = [flow, score];
  }
  return best;
}

/** A half where all are equal, so that the other measure decides. */
function share(value: number, range: number): number {
  return range > 0 ? value / range : 0.5;
}
