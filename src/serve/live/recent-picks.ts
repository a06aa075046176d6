import type { Routed } from '../../framework/observer.ts';
import type { Waited } from '../../framework/routing.ts';

/** What the record of a decision does not hold: how long the request waited, and for what. */
interface RecentPick {
  id: string;
  expectedTtftMs: number | undefined;
  waited: Waited | undefined;
}

/** As many as the decisions that a message can come from. */
const KEPT = 128;

/** The latest picks, while a viewer is there; without one nothing is kept. */
export class RecentPicks {
  #kept: RecentPick[] = [];
  #next = 0;
  #watched = false;
  #waited: { readonly id: string; readonly waited: Waited } | undefined;

  watch(watched: boolean): void {
    this.#watched = watched;
    if (!watched) this.#kept = [];
    this.#waited = undefined;
    this.#next = 0;
  }

  /** The request that is decided now has waited. */
  held(id: string, waited: Waited): void {
    if (this.#watched) this.#waited = { id, waited };
  }

  add({ request: { id }, expectedTtftMs }: Routed): void {
    if (!this.#watched) return;
    const waited = this.#waited?.id === id ? this.#waited.waited : undefined;
    this.#kept[this.#next] = { id, expectedTtftMs, waited };
    this.#next = (this.#next + 1) % KEPT;
  }

  find(id: string): Readonly<RecentPick> | undefined {
    return this.#kept.find((each) => each.id === id);
  }
}
