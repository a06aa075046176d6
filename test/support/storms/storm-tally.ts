import type { JournalSubscriber } from '../../../src/picker/events/journal.ts';

/** Counts what a picker publishes of each request, which must be once at most. */
export class StormTally {
  placed = 0;
  waited = 0;
  readonly #decided = new Map<string, number>();
  /** How often it was placed more than it has ended. */
  readonly #open = new Map<string, number>();

  readonly subscriber: JournalSubscriber = {
    onDecision: ({ request: { id } }) => count(this.#decided, id, 1),
    onRouted: ({ request: { id }, heldMs = 0 }) => {
      this.placed += 1;
      if (heldMs > 0) this.waited += 1;
      count(this.#open, id, 1);
    },
    onDone: ({ request: { id } }) => count(this.#open, id, -1),
  };

  /** What must not be once all have ended: one sentence each. */
  *faults(): Iterable<string> {
    for (const [id, times] of this.#decided) {
      if (times > 1) yield `${id} was decided ${times} times`;
    }
    for (const [id, open] of this.#open) {
      if (open !== 0) yield `${id} was placed ${open} times more than it has ended`;
    }
  }
}

function count(counts: Map<string, number>, id: string, by: number): void {
  counts.set(id, (counts.get(id) ?? 0) + by);
}
