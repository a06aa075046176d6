import type { Family, MetricLabels } from './family.ts';
import type { SeriesLimit } from './series-limit.ts';
import type { Cell } from './tally.ts';

/** A counter of one line, and the period in which it was last used. */
interface UsedCell {
  readonly cell: Cell;
  usedIn: number;
}

/** The cells of one family by key, with a bound for all of them. */
export class CellTable {
  readonly #cells = new Map<string, UsedCell>();
  readonly #family: Family<Cell>;
  readonly #limit: SeriesLimit;

  constructor(family: Family<Cell>, limit: SeriesLimit) {
    this.#family = family;
    this.#limit = limit;
  }

  get size(): number {
    return this.#cells.size;
  }

  keys(): Iterable<string> {
    return this.#cells.keys();
  }

  find(key: string): Cell | undefined {
    const found = this.#cells.get(key);
    if (found !== undefined) found.usedIn = this.#limit.period;
    return found?.cell;
  }

  /** Undefined where the limit has no room. */
  make(key: string, labels: MetricLabels): Cell | undefined {
    return this.#limit.take(1) ? this.#made(key, labels) : undefined;
  }

  /** Beyond the limit, too. */
  makeAnyway(key: string, labels: MetricLabels): Cell {
    if (!this.#limit.take(1)) this.#limit.free(-1);
    return this.#made(key, labels);
  }

  #made(key: string, labels: MetricLabels): Cell {
    const cell = this.#family.child(labels);
    this.#cells.set(key, { cell, usedIn: this.#limit.period });
    return cell;
  }

  /** See `SeriesHolder.drop`. */
  drop(period: number, most: number): number {
    let dropped = 0;
    for (const [key, { cell, usedIn }] of this.#cells) {
      if (dropped === most) break;
      if (usedIn >= period) continue;
      this.#forget(key, cell);
      dropped += 1;
    }
    return dropped;
  }

  dropAll(): void {
    for (const [key, { cell }] of this.#cells) this.#forget(key, cell);
  }

  #forget(key: string, cell: Cell): void {
    this.#family.drop(cell);
    this.#cells.delete(key);
    this.#limit.free(1);
  }
}
