import { RoutingError } from '../framework/error.ts';
import type { Millis } from '../framework/runtime.ts';
import { EndpointQueue, isBefore, type Lateness, type Queued } from './endpoint-queue.ts';
import type { FairShares, Share } from './fair-shares.ts';
import { IndexedHeap } from './indexed-heap.ts';
import { ORDERS, type Order, type WaitingOrder } from './order.ts';

export interface WaitingLimits {
  readonly maxRequests: number;
  readonly maxBytes: number;
}

/** What is asked about requests that wait for one endpoint. */
export interface Openness<T> {
  /** Whether the endpoint can begin a request at all: the same for all that wait for it. */
  readonly isOpen: (one: T) => boolean;
  /** Whether the endpoint can begin a request of this flow: the same for all of the flow. */
  readonly isOpenTo: (one: T) => boolean;
}

/** The requests of one priority. */
interface Group<T extends Queued> {
  /** By the endpoint that each waits for, and by flow. */
  readonly queues: Map<string, Map<Share, EndpointQueue<T>>>;
  /** By the time at which each should be decided anew. */
  readonly looks: IndexedHeap<T>;
}

/**
 * A request is decided anew once its wait has grown by this share: the longer it waits, the less
 * its situation changes from one moment to the next.
 */
const LOOK_SHARE = 0.25;

/**
 * The requests that wait, each for one endpoint. Requests of a higher priority go strictly first.
 * Among equals the flow is next that has got least, and in it the order decides; where the flow is
 * late, its newest request is next. Adding and removing take logarithmic time; finding the first
 * one looks at the flows that wait for open endpoints.
 */
export class WaitingQueue<T extends Queued> {
  readonly #groups = new Map<number, Group<T>>();
  /**
   * The endpoint of each; the oldest request first, because one that moves keeps its place here.
   */
  readonly #endpoints = new Map<T, string>();
  #priorities: readonly number[] = [];
  readonly #shares: FairShares;
  #order: Order = ORDERS['response-ratio'];
  #bytes = 0;

  constructor(shares: FairShares) {
    this.#shares = shares;
  }

  get size(): number {
    return this.#endpoints.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether flows share what there is, whatever each of them sends. */
  get isFair(): boolean {
    return this.#order.isFair;
  }

  /** The highest first. */
  get priorities(): readonly number[] {
    return this.#priorities;
  }

  /** All of them, the oldest first. */
  items(): IterableIterator<T> {
    return this.#endpoints.keys();
  }

  orderBy(name: WaitingOrder): void {
    const order = ORDERS[name];
    if (order === this.#order) return;
    for (const [item, endpoint] of this.#endpoints) this.#takeOut(item, endpoint);
    this.#order = order;
    for (const [item, endpoint] of this.#endpoints) this.#putIn(item, endpoint);
  }

  /** Throws RoutingError `saturated` where one more request of these bytes exceeds the limits. */
  admit(bytes: number, { maxRequests, maxBytes }: WaitingLimits): void {
    if (this.size + 1 > maxRequests) throw full(`${maxRequests} requests wait`);
    if (this.#bytes + bytes > maxBytes) throw full(`requests of ${this.#bytes} bytes wait`);
  }

  /** It must not be in the queue. */
  add(item: T, endpoint: string): void {
    this.#bytes += item.waiting.bytes;
    this.#endpoints.set(item, endpoint);
    this.#shares.waits(item.share, item.waiting.request);
    this.#putIn(item, endpoint);
  }

  /** Lets `change` change the item, which waits for the endpoint that it returns from then on. */
  move(item: T, change: () => string): void {
    const before = this.#endpoints.get(item);
    if (before !== undefined) this.#takeOut(item, before);
    const endpoint = change();
    this.#endpoints.set(item, endpoint);
    this.#putIn(item, endpoint);
  }

  delete(item: T): void {
    const endpoint = this.#endpoints.get(item);
    if (endpoint === undefined) return;
    this.#bytes -= item.waiting.bytes;
    this.#endpoints.delete(item);
    this.#shares.leaves(item.share, item.waiting.request);
    this.#takeOut(item, endpoint);
  }

  /** What of a flow and priority waits for this endpoint; undefined where none of it is late. */
  lateness(priority: number, endpoint: string, share: Share, at: Millis): Lateness | undefined {
    const queue = this.#groups.get(priority)?.queues.get(endpoint)?.get(share);
    const lateness = queue?.lateness(at);
    return lateness !== undefined && lateness.late > 0 ? lateness : undefined;
  }

  /** The first one of this priority that waits for an endpoint which is open to it. */
  first(priority: number, at: Millis, openness: Openness<T>): T | undefined {
    let first: T | undefined;
    for (const flows of this.#groups.get(priority)?.queues.values() ?? []) {
      const [queue] = flows.values();
      if (queue?.anyItem === undefined || !openness.isOpen(queue.anyItem)) continue;
      first = this.#firstOf(flows, first, at, openness);
    }
    return first;
  }

  /** The first of the requests in `flows`, which wait for one endpoint, and of `other`. */
  #firstOf(
    flows: ReadonlyMap<Share, EndpointQueue<T>>,
    other: T | undefined,
    at: Millis,
    { isOpenTo }: Openness<T>,
  ): T | undefined {
    let first = other;
    for (const [share, queue] of flows) {
      if (this.#hasGotMore(share, first?.share)) continue;
      const item = queue.first(at);
      if (item === undefined || !isOpenTo(item)) continue;
      const isEarlier = first !== undefined && this.#hasGotMore(first.share, share);
      if (isEarlier || isBefore(item, first, this.#order, at)) first = item;
    }
    return first;
  }

  /** The one of this priority that should be decided anew first, if its time has come. */
  nextLook(priority: number, at: Millis): T | undefined {
    const item = this.#groups.get(priority)?.looks.first;
    return item !== undefined && lookAt(item) < at ? item : undefined;
  }

  /** Whether a flow has got more than another one, and so comes after it. */
  #hasGotMore({ served }: Share, than: Share | undefined): boolean {
    return this.#order.isFair && than !== undefined && served > than.served;
  }

  #putIn(item: T, endpoint: string): void {
    const { waiting, share } = item;
    const { queues, looks } = this.#groupOf(waiting.request.priority);
    let flows = queues.get(endpoint);
    if (flows === undefined) {
      flows = new Map();
      queues.set(endpoint, flows);
    }
    let queue = flows.get(share);
    if (queue === undefined) {
      queue = new EndpointQueue(this.#order);
      flows.set(share, queue);
    }
    queue.add(item);
    looks.update(item);
  }

  #takeOut(item: T, endpoint: string): void {
    const { priority } = item.waiting.request;
    const { queues, looks } = this.#groupOf(priority);
    const flows = queues.get(endpoint);
    const queue = flows?.get(item.share);
    queue?.delete(item);
    looks.delete(item);
    if (queue?.size === 0) flows?.delete(item.share);
    if (flows?.size === 0) queues.delete(endpoint);
    if (queues.size > 0) return;
    this.#groups.delete(priority);
    this.#priorities = this.#priorities.filter((each) => each !== priority);
  }

  #groupOf(priority: number): Group<T> {
    const known = this.#groups.get(priority);
    if (known !== undefined) return known;
    const looks = new IndexedHeap<T>((a, b) => lookAt(a) < lookAt(b));
    const group: Group<T> = { queues: new Map(), looks };
    this.#groups.set(priority, group);
    this.#priorities = [...this.#groups.keys()].toSorted((a, b) => b - a);
    return group;
  }
}

function lookAt({ decidedAt, waiting: { since } }: Queued): Millis {
  return decidedAt + LOOK_SHARE * (decidedAt - since);
}

function full(what: string): RoutingError {
  return new RoutingError(
    'saturated',
    `too many requests wait for an endpoint: ${what}; try again`,
  );
}
