import type { PromptBlocks } from '../../framework/request.ts';
import { NO_RECORD, Records } from './records.ts';
import { Runs } from './runs.ts';

/** Fields of a holding. The first is also used where an owner's order begins and ends. */
const RUN = 0;
const OWNER = 1;
/** How many blocks of the run are held, counted from the first. */
const HELD = 2;
const OLDER = 3;
const NEWER = 4;
/** The next holding of the same run. */
const NEXT = 5;
const PINS = 6;
/** When it was last used, by the owner's count. */
const USED = 7;
const FIELDS = 8;

/** Holdings of owners that have left that are freed with each prompt: a few microseconds. */
const FREED_AT_ONCE = 64;

/**
 * Which blocks the endpoints of a pool hold, in one table for all, so that one search finds a
 * prompt's match at each of them. Blocks that have been used together so far are one run; a holding
 * says that an owner holds a run, or the first blocks of it. An owner's holdings have an order of
 * use, in which the first blocks of a holding are newer than those behind them.
 *
 * A prompt that nobody shares takes 7 bytes for each block and some 60 beside; each other endpoint
 * that holds it 32 bytes, however long it is. See docs/measurements/byte-path.md.
 */
export class PrefixIndex {
  readonly runs: Runs = new Runs();
  readonly #holdings = new Records(FIELDS);
  #owners = 0;
  readonly #freeOwners: number[] = [];
  /** Ends of the orders of owners that have left and still have holdings. */
  readonly #left: number[] = [];

  /** Memory in use, which never becomes less. */
  get bytes(): number {
    return this.runs.bytes + this.#holdings.bytes;
  }

  /**
   * A new owner: the end of its order of use, which is older than its oldest holding and newer than
   * its newest one.
   */
  addOwner(): number {
    this.freeSome();
    const end = this.#holdings.take();
    this.#holdings.set(end, RUN, NO_RECORD);
    this.#holdings.set(end, OWNER, this.#freeOwners.pop() ?? this.#owners++);
    this.#holdings.set(end, OLDER, end);
    this.#holdings.set(end, NEWER, end);
    this.#holdings.set(end, PINS, 0);
    return end;
  }

  /** The owner's holdings count for nothing from now on, and are freed little by little. */
  removeOwner(end: number): void {
    this.#left.push(end);
    this.freeSome();
  }

  /** Frees some holdings of owners that have left. */
  freeSome(): void {
    const end = this.#left.at(-1);
    if (end === undefined) return;
    for (let count = 0; count < FREED_AT_ONCE; count++) {
      const oldest = this.newer(end);
      if (oldest === end) {
        this.#left.pop();
        this.#freeOwners.push(this.owner(end));
        this.#holdings.release(end);
        return;
      }
      this.remove(oldest);
    }
  }

  /**
   * By owner: how many blocks of the chain it holds without a gap, counted from the first; empty
   * where nobody holds the first.
   */
  matched({ count, words }: PromptBlocks): readonly number[] {
    const holdings = this.#holdings;
    const matched: number[] = [];
    let block = 0;
    let goesOn = true;
    while (block < count && goesOn) {
      const run = this.runs.find(words, block);
      if (run === NO_RECORD) break;
      if (block === 0) {
        // It has its full length at once: a list that grows is copied each time it is full.
        matched.length = this.#owners;
        matched.fill(0);
      }
      const length = this.runs.matching(run, words, block, count);
      goesOn = false;
      for (let at = this.runs.holding(run); at !== NO_RECORD; at = holdings.get(at, NEXT)) {
        const owner = holdings.get(at, OWNER);
        // An owner that holds a block holds all blocks before it.
        if (matched[owner] !== block) continue;
        const held = holdings.get(at, HELD);
        matched[owner] = block + Math.min(held, length);
        if (held >= length) goesOn = true;
      }
      block += length;
    }
    return matched;
  }

  owner(holding: number): number {
    return this.#holdings.get(holding, OWNER);
  }

  run(holding: number): number {
    return this.#holdings.get(holding, RUN);
  }

  held(holding: number): number {
    return this.#holdings.get(holding, HELD);
  }

  pins(holding: number): number {
    return this.#holdings.get(holding, PINS);
  }

  setPins(holding: number, pins: number): void {
    this.#holdings.set(holding, PINS, pins);
  }

  /** What the owner counted when it was last used; kept as 32 bits. */
  used(holding: number): number {
    return this.#holdings.get(holding, USED);
  }

  setUsed(holding: number, count: number): void {
    this.#holdings.set(holding, USED, count);
  }

  older(holding: number): number {
    return this.#holdings.get(holding, OLDER);
  }

  newer(holding: number): number {
    return this.#holdings.get(holding, NEWER);
  }

  /** The owner's holding of a run, or NONE. */
  holdingOf(run: number, owner: number): number {
    const holdings = this.#holdings;
    let holding = this.runs.holding(run);
    while (holding !== NO_RECORD && holdings.get(holding, OWNER) !== owner) {
      holding = holdings.get(holding, NEXT);
    }
    return holding;
  }

  /** Whether this is the run's only holding, and is of all its blocks. */
  isWhole(holding: number): boolean {
    const run = this.run(holding);
    const isOnly =
      this.runs.holding(run) === holding && this.#holdings.get(holding, NEXT) === NO_RECORD;
    return isOnly && this.held(holding) === this.runs.length(run);
  }

  /** A new holding of an owner that has none of the run, next in its order to `newer`. */
  add(run: number, held: number, newer: number): number {
    const holding = this.#holdings.take();
    this.#holdings.set(holding, RUN, run);
    this.#holdings.set(holding, OWNER, this.owner(newer));
    this.#holdings.set(holding, HELD, held);
    this.#holdings.set(holding, PINS, 0);
    this.#holdings.set(holding, USED, this.used(newer));
    this.#holdings.set(holding, NEXT, this.runs.holding(run));
    this.runs.setHolding(run, holding);
    this.#link(holding, newer);
    return holding;
  }

  /** Moves a holding in its owner's order, next to `newer`. */
  move(holding: number, newer: number): void {
    if (this.newer(holding) === newer) return;
    this.#unlink(holding);
    this.#link(holding, newer);
  }

  /** How many blocks of its run are held, at least 1. */
  hold(holding: number, held: number): void {
    this.#holdings.set(holding, HELD, held);
    this.#shorten(this.run(holding));
  }

  /** Divides a run behind its first `length` blocks, and its holdings. They keep their places. */
  split(run: number, length: number): void {
    const second = this.runs.split(run, length);
    const holdings = this.#holdings;
    for (let at = this.runs.holding(run); at !== NO_RECORD; at = holdings.get(at, NEXT)) {
      const rest = holdings.get(at, HELD) - length;
      if (rest <= 0) continue;
      holdings.set(at, HELD, length);
      const behind = this.add(second, rest, at);
      holdings.set(behind, PINS, holdings.get(at, PINS));
      holdings.set(behind, USED, holdings.get(at, USED));
    }
    if (this.runs.holding(second) === NO_RECORD) this.runs.remove(second);
  }

  /** Removes a holding, and its run where it was the only one. */
  remove(holding: number): void {
    const holdings = this.#holdings;
    const run = this.run(holding);
    const next = holdings.get(holding, NEXT);
    let before = this.runs.holding(run);
    if (before === holding) this.runs.setHolding(run, next);
    else {
      while (holdings.get(before, NEXT) !== holding) before = holdings.get(before, NEXT);
      holdings.set(before, NEXT, next);
    }
    if (this.runs.holding(run) === NO_RECORD) this.runs.remove(run);
    else this.#shorten(run);
    this.#unlink(holding);
    holdings.release(holding);
  }

  /**
   * Forgets the end of a run that no owner holds, where it is half of it or more: so the time to
   * find where it begins is shared by many blocks.
   */
  #shorten(run: number): void {
    const length = this.runs.length(run);
    let most = 0;
    for (let at = this.runs.holding(run); at !== NO_RECORD; at = this.#holdings.get(at, NEXT)) {
      most = Math.max(most, this.held(at));
      if (2 * most > length) return;
    }
    this.runs.truncate(run, most);
  }

  #link(holding: number, newer: number): void {
    const older = this.older(newer);
    this.#holdings.set(holding, NEWER, newer);
    this.#holdings.set(holding, OLDER, older);
    this.#holdings.set(newer, OLDER, holding);
    this.#holdings.set(older, NEWER, holding);
  }

  #unlink(holding: number): void {
    const [older, newer] = [this.older(holding), this.newer(holding)];
    this.#holdings.set(newer, OLDER, older);
    this.#holdings.set(older, NEWER, newer);
  }
}

/** The largest of these numbers of blocks; 0 without any. */
export function largest(matched: ArrayLike<number>): number {
  let most = 0;
  for (let at = 0; at < matched.length; at++) most = Math.max(most, matched[at] ?? 0);
  return most;
}
