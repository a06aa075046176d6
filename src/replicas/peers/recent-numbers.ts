/** The numbers that were added last: at least so many, and at most twice as many. */
export class RecentNumbers {
  readonly #least: number;
  #newer = new Set<number>();
  #older = new Set<number>();
  #most = Number.NEGATIVE_INFINITY;

  constructor(least: number) {
    this.#least = least;
  }

  /** Numbers mostly grow: one above all that were added is looked for nowhere. */
  has(number: number): boolean {
    if (number > this.#most) return false;
    return this.#newer.has(number) || this.#older.has(number);
  }

  /** Drops many old ones seldom: a set from which each new number drops an old one grows slow. */
  add(number: number): void {
    if (this.#newer.size >= this.#least) {
      this.#older = this.#newer;
      this.#newer = new Set();
    }
    this.#newer.add(number);
    if (number > this.#most) this.#most = number;
  }
}
