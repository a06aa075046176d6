import { setImmediate as nextTurn } from 'node:timers/promises';

/** Short enough that a request which comes meanwhile is hardly later. */
const SLICE_MS = 1;

/** Divides long work into slices, between which other events are let through. */
export class TimeSlices {
  readonly #sliceMs: number;
  readonly #nextTurn: () => Promise<void>;
  #endsAt: number;

  /** The first slice begins at once. */
  constructor(sliceMs: number = SLICE_MS, whenNext: () => Promise<void> = nextTurn) {
    this.#sliceMs = sliceMs;
    this.#nextTurn = whenNext;
    this.#endsAt = performance.now() + sliceMs;
  }

  /** Ask after each step, which must be short; then wait for `next`. */
  get isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /** Resolves at the beginning of the next slice. */
  async next(): Promise<void> {
    await this.#nextTurn();
    this.#endsAt = performance.now() + this.#sliceMs;
  }
}
