import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Waiting } from '../discipline.ts';
import type { BandFairness } from './fairness/fairness.ts';
import { Flow, type Item } from './fairness/flow.ts';
import type { BandParts } from './flow-control-parts.ts';

/** The waiting requests of one priority. */
export class Band {
  readonly priority: number;
  readonly plan: BandParts;
  /** When it last had a request. */
  usedAt: Millis = 0;
  readonly #fairness: BandFairness;
  readonly #flows = new Map<string, Flow>();
  /** Flows with requests that a pass has offered and that may still wait. */
  readonly #offered = new Set<Flow>();
  #size = 0;
  #bytes = 0;

  constructor(priority: number, plan: BandParts, fairness: BandFairness) {
    this.priority = priority;
    this.plan = plan;
    this.#fairness = fairness;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The flow of a fairness id; it is kept while it has requests. */
  flowOf(id: string): Flow {
    return this.#flows.get(id) ?? new Flow(id, this.plan.before);
  }

  add(item: Item): void {
    const { flow, waiting } = item;
    this.#flows.set(flow.id, flow);
    this.#size += 1;
    this.#bytes += waiting.bytes;
    this.#change(flow, () => flow.add(item));
  }

  delete(item: Item): void {
    const { flow, waiting } = item;
    this.#size -= 1;
    this.#bytes -= waiting.bytes;
    this.#change(flow, () => flow.delete(item));
    if (flow.size > 0) return;
    this.#flows.delete(flow.id);
    this.#offered.delete(flow);
  }

  placed(item: Item, at: Millis): void {
    this.delete(item);
    this.#fairness.placed?.(item, at);
  }

  placedElsewhere(request: InferenceRequest, at: Millis): void {
    this.#fairness.placedElsewhere?.(request, at);
  }

  stop(): void {
    this.#fairness.stop?.();
  }

  /** The requests in the order in which they are to be placed, while `isOpen`. */
  *inOrder(at: Millis, isOpen: () => boolean): Generator<Waiting> {
    this.#takeBack();
    this.#fairness.begin?.();
    try {
      while (isOpen()) {
        const flow = this.#fairness.next(at);
        const item = flow?.first;
        if (flow === undefined || item === undefined) return;
        this.#change(flow, () => flow.offer(item));
        this.#offered.add(flow);
        yield item.waiting;
      }
    } finally {
      this.#takeBack();
    }
  }

  #takeBack(): void {
    for (const flow of this.#offered) this.#change(flow, () => flow.takeBack());
    this.#offered.clear();
  }

  /** Fairness looks at the first requests: it must see each change at once. */
  #change(flow: Flow, change: () => unknown): void {
    const before = flow.first;
    change();
    if (flow.first !== before || flow.size === 0) this.#fairness.changed(flow);
  }
}
