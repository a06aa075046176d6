/** The numbers that were added last: at least so many, and at most twice as many. */
export class RecentNumbers {
  readonly #least: number;
  #newer = new Set<number>();
  #older = new Set<number>();

  constructor(least: number) {
    this.#least = least;
  }

  has(number: number): boolean {
    return this.#newer.has(number) || this.#older.has(number);
  }

  /** Drops many old ones seldom: a set from which each new number drops an old one grows slow. */
  add(number: number): void {
    if (this.#newer.size >= this.#least) {
      this.#older = this.#newer;
      this.#newer = new Set();
    }
    this.#newer.add(number);
  }
}
