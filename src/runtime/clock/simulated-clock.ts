import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/** A timer is itself an entry of the queue: simulations set millions of them. */
class Event implements Timer {
  readonly at: Millis;
  /** Breaks ties in the order of creation, so that equal times replay in one order. */
  readonly sequence: number;
  callback: (() => void) | undefined;

  constructor(at: Millis, sequence: number, callback: () => void) {
    this.at = at;
    this.sequence = sequence;
    this.callback = callback;
  }

  cancel(): void {
    this.callback = undefined;
  }
}

/** Time that moves only when the caller moves it. Timers fire in the order of their due times. */
export class SimulatedClock implements Clock {
  readonly #heap: Event[] = [];
  readonly #epoch: Millis;
  #now: Millis = 0;
  #sequence = 0;

  constructor(options: { readonly epoch: Millis } = { epoch: 0 }) {
    this.#epoch = options.epoch;
  }

  now(): Millis {
    return this.#now;
  }

  wallTime(): Millis {
    return this.#epoch + this.#now;
  }

  setTimer(delay: Millis, callback: () => void): Timer {
    const event = new Event(this.#now + Math.max(0, delay), this.#sequence++, callback);
    push(this.#heap, event);
    return event;
  }

  /** Fires timers due by `time`, also new ones. Throws a RangeError for a time in the past. */
  advanceTo(time: Millis): void {
    if (!(time >= this.#now && time < Number.POSITIVE_INFINITY)) {
      throw new RangeError(
        `advanceTo: ${time} ms is no finite time at or after now, ${this.#now} ms`,
      );
    }
    while (this.step(time)) continue;
    this.#now = time;
  }

  /** Moves to the next timer and fires it, if one is due by `until`; false where there is none. */
  step(until: Millis = Number.POSITIVE_INFINITY): boolean {
    const next = this.#heap[0];
    if (next === undefined || next.at > until) return false;
    pop(this.#heap);
    this.#now = next.at;
    next.callback?.();
    return true;
  }

  /** Fires timers due by `until`, settles promises between them, and stays at the last one. */
  async run(until: Millis = Number.POSITIVE_INFINITY): Promise<void> {
    await settle();
    while (this.step(until)) await settle();
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.sequence < b.sequence);
}

function push(heap: Event[], event: Event): void {
  let index = heap.length;
  heap.push(event);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const other = heap[parent] as Event;
    if (!before(event, other)) break;
    heap[index] = other;
    index = parent;
  }
  heap[index] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    const right = child + 1;
    if (right < heap.length && before(heap[right] as Event, heap[child] as Event)) child = right;
    if (!before(heap[child] as Event, last)) break;
    heap[index] = heap[child] as Event;
    index = child;
  }
  heap[index] = last;
}
