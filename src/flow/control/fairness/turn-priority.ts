import type { Millis } from '../../../framework/runtime.ts';
import { IndexedHeap } from '../../indexed-heap.ts';
import type { BandFairness, Fairness } from './fairness.ts';
import type { Flow, Item } from './flow.ts';
import { type Program, Programs, type ProgramsConfig } from './programs.ts';

export interface TurnPriorityConfig {
  /** Turns that a second of waiting is worth. */
  readonly timeWeight: number;
  /** A program that has paused for longer starts at its first turn again; 0 for never. */
  readonly inactivityMs: Millis;
}

/**
 * Prefers programs that have had many turns, whose prefix is likely still cached. Waiting counts,
 * too, without a bound, so that no program waits for ever.
 */
export function turnPriority(config: ProgramsConfig, turns: TurnPriorityConfig): Fairness {
  const programs = new Programs(config);
  const keyOf = (flow: Flow): number => {
    const { since } = (flow.first as Item).waiting;
    return turnKey(programs.of(flow.id, since), since, turns);
  };
  const bands = new Set<TurnBand>();
  const refresh = (id: string): void => {
    for (const band of bands) band.refresh(id);
  };
  return {
    programs,
    forBand() {
      const band = new TurnBand(keyOf, {
        placed({ flow, waiting }, at) {
          programs.placed(flow.id, at - waiting.since, at);
          refresh(flow.id);
        },
        placedElsewhere(request, at) {
          programs.placedElsewhere(request, at);
          refresh(request.fairnessId);
        },
      });
      bands.add(band);
      band.onStop = () => bands.delete(band);
      return band;
    },
    ended(request, served, at) {
      programs.ended(request, served, at);
      refresh(request.fairnessId);
    },
  };
}

/** Turns less the waiting since time 0: its order does not change as time goes by. */
function turnKey(
  { placed, elsewhere, inFlight, hasEnded, lastEndAt }: Program,
  since: Millis,
  { timeWeight, inactivityMs }: TurnPriorityConfig,
): number {
  const paused = inactivityMs > 0 && inFlight === 0 && hasEnded;
  const turn = paused && since - lastEndAt > inactivityMs ? 1 : placed + elsewhere + 1;
  return turn - (timeWeight * since) / 1000;
}

type Placings = Required<Pick<BandFairness, 'placed' | 'placedElsewhere'>>;

/** The flows of one band by their keys. */
class TurnBand implements BandFairness {
  readonly placed: Placings['placed'];
  readonly placedElsewhere: Placings['placedElsewhere'];
  onStop: () => void = () => undefined;
  readonly #keyOf: (flow: Flow) => number;
  readonly #keys = new Map<Flow, number>();
  readonly #byId = new Map<string, Flow>();
  readonly #heap = new IndexedHeap<Flow>((a, b) => {
    const [first, second] = [this.#keys.get(a) as number, this.#keys.get(b) as number];
    return first === second ? (a.first as Item).number < (b.first as Item).number : first > second;
  });

  constructor(keyOf: (flow: Flow) => number, { placed, placedElsewhere }: Placings) {
    this.#keyOf = keyOf;
    this.placed = placed;
    this.placedElsewhere = placedElsewhere;
  }

  changed(flow: Flow): void {
    if (flow.first === undefined) {
      this.#heap.delete(flow);
      this.#keys.delete(flow);
      this.#byId.delete(flow.id);
      return;
    }
    this.#keys.set(flow, this.#keyOf(flow));
    this.#byId.set(flow.id, flow);
    this.#heap.update(flow);
  }

  /** A request of the program was placed or has ended, maybe one of another band. */
  refresh(id: string): void {
    const flow = this.#byId.get(id);
    if (flow !== undefined) this.changed(flow);
  }

  next(): Flow | undefined {
    return this.#heap.first;
  }

  stop(): void {
    this.onStop();
  }
}
