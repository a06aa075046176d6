import type { Millis } from '../framework/runtime.ts';
import type { Waiting } from './discipline.ts';
import type { Share } from './fair-shares.ts';
import { IndexedHeap } from './indexed-heap.ts';
import { dueWithinMs, type Order } from './order.ts';

/** A request in a queue. These fields must not change while it is in one. */
export interface Queued {
  readonly waiting: Waiting;
  /** The share of its flow. */
  readonly share: Share;
  /** Counts arrivals. */
  readonly number: number;
  /** The time that its prompt takes where it would go. */
  readonly ownMs: Millis;
  readonly decidedAt: Millis;
}

/** What waits for an endpoint, by whether it has waited too long. */
export interface Lateness {
  /** How many are late. */
  readonly late: number;
  /** The time that their prompts take. */
  readonly lateMs: Millis;
  /** The time that the prompts of the others take. */
  readonly inTimeMs: Millis;
}

/**
 * The requests of one flow and priority that wait for one endpoint. The first of them is found
 * without a look at all: within a class the oldest goes first, so only one of each class is
 * compared, and deadlines are kept by the time at which they can only just be met. Under overload,
 * when the oldest have waited too long to be answered in time, the newest goes first: then those
 * that can be served are served in time.
 */
export class EndpointQueue<T extends Queued> {
  readonly #order: Order;
  readonly #classes = new Map<number, IndexedHeap<T>>();
  readonly #byNewest = new IndexedHeap<T>((a, b) => a.number > b.number);
  /**
   * Those in time, by when they will be late; empty where the order knows no late requests.
   */
  readonly #byLate: IndexedHeap<T>;
  readonly #late = new Set<T>();
  #lateMs: Millis = 0;
  #inTimeMs: Millis = 0;
  /**
   * With a deadline that can be met, by the time from which it can only just be met. One of 1000
   * ms, of which its prompt takes 300, is early for 380 ms, then due until 700 ms, and then as any
   * other.
   */
  readonly #early = new IndexedHeap<T>(by(dueFrom));
  /** With a deadline that can only just be met, by the time at which they must go. */
  readonly #due = new IndexedHeap<T>(by(latestStart));

  constructor(order: Order) {
    this.#order = order;
    this.#byLate = new IndexedHeap<T>(by((item) => this.#lateFrom(item)));
  }

  get size(): number {
    return this.#byNewest.size;
  }

  add(item: T): void {
    const ofClass = this.#order.classOf(item.ownMs);
    let heap = this.#classes.get(ofClass);
    if (heap === undefined) {
      heap = new IndexedHeap<T>((a, b) => a.number < b.number);
      this.#classes.set(ofClass, heap);
    }
    heap.update(item);
    this.#byNewest.update(item);
    this.#inTimeMs += item.ownMs;
    if (this.#lateFrom(item) < Number.POSITIVE_INFINITY) this.#byLate.update(item);
    if (this.#order.hasDeadlines && deadlineOf(item) !== undefined) this.#early.update(item);
  }

  delete(item: T): void {
    const ofClass = this.#order.classOf(item.ownMs);
    const heap = this.#classes.get(ofClass);
    if (heap?.delete(item) !== true) return;
    if (heap.size === 0) this.#classes.delete(ofClass);
    this.#byNewest.delete(item);
    this.#byLate.delete(item);
    if (this.#late.delete(item)) this.#lateMs -= item.ownMs;
    else this.#inTimeMs -= item.ownMs;
    this.#early.delete(item);
    this.#due.delete(item);
  }

  /** Any of them; undefined where there is none. */
  get anyItem(): T | undefined {
    return this.#byNewest.first;
  }

  /** Where one of them is late, the newest goes first. Time must not go back between two calls. */
  lateness(at: Millis): Lateness {
    for (let item = this.#byLate.first; item !== undefined; item = this.#byLate.first) {
      if (this.#lateFrom(item) >= at) break;
      this.#byLate.delete(item);
      this.#late.add(item);
      this.#lateMs += item.ownMs;
      this.#inTimeMs -= item.ownMs;
    }
    return { late: this.#late.size, lateMs: this.#lateMs, inTimeMs: this.#inTimeMs };
  }

  #lateFrom({ waiting: { since }, ownMs }: Queued): Millis {
    return since + this.#order.lateAfterMs(ownMs);
  }

  /** The most urgent one. Time must not go back between two calls. */
  first(at: Millis): T | undefined {
    const due = this.#takeDue(at);
    if (due !== undefined) return due;
    if (this.lateness(at).late > 0) return this.#byNewest.first;
    let first: T | undefined;
    for (const { first: oldest } of this.#classes.values()) {
      if (oldest !== undefined && isBefore(oldest, first, this.#order, at)) first = oldest;
    }
    return first;
  }

  /**
   * The first with a deadline that must go now. Moves and drops those whose time has come or
   * passed.
   */
  #takeDue(at: Millis): T | undefined {
    for (let item = this.#early.first; item !== undefined; item = this.#early.first) {
      if (dueFrom(item) > at) break;
      this.#early.delete(item);
      this.#due.update(item);
    }
    for (let item = this.#due.first; item !== undefined; item = this.#due.first) {
      if (latestStart(item) >= at) return item;
      this.#due.delete(item);
    }
    return undefined;
  }
}

/** Whether `a` goes before `b`. */
export function isBefore(a: Queued, b: Queued | undefined, order: Order, at: Millis): boolean {
  if (b === undefined) return true;
  const [first, second] = [urgencyAt(a, order, at), urgencyAt(b, order, at)];
  return first === second ? a.number < b.number : first > second;
}

function urgencyAt(
  { waiting: { since, request }, ownMs }: Queued,
  order: Order,
  at: Millis,
): number {
  return order.urgencyOf({ waitedMs: at - since, ownMs, ttftSloMs: request.ttftSloMs });
}

function deadlineOf({ waiting: { since, request } }: Queued): Millis | undefined {
  return request.ttftSloMs === undefined ? undefined : since + request.ttftSloMs;
}

function latestStart(item: Queued): Millis {
  return (deadlineOf(item) ?? Number.POSITIVE_INFINITY) - item.ownMs;
}

function dueFrom(item: Queued): Millis {
  return latestStart(item) - dueWithinMs(item.ownMs);
}

function by(timeOf: (item: Queued) => Millis): (a: Queued, b: Queued) => boolean {
  return (a, b) => {
    const [first, second] = [timeOf(a), timeOf(b)];
    return first === second ? a.number < b.number : first < second;
  };
}
