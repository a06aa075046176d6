import type { Routed } from '../../framework/observer.ts';

/** What the record of a decision does not hold: the time to the first token that was expected. */
interface RecentPick {
  id: string;
  expectedTtftMs: number | undefined;
}

/** A message can come from so many decisions. */
const KEPT = 128;

/** The latest picks, while a viewer is there; without one nothing is kept. */
export class RecentPicks {
  #kept: RecentPick[] = [];
  #next = 0;
  #watched = false;

  watch(): void {
    this.#watched = true;
    this.#next = 0;
  }

  unwatch(): void {
    this.#watched = false;
    this.#kept = [];
    this.#next = 0;
  }

  add({ request: { id }, expectedTtftMs }: Routed): void {
    if (!this.#watched) return;
    this.#kept[this.#next] = { id, expectedTtftMs };
    this.#next = (this.#next + 1) % KEPT;
  }

  find(id: string): Readonly<RecentPick> | undefined {
    return this.#kept.find((each) => each.id === id);
  }
}
