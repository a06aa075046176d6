import type { Clock, Millis, Timer } from '../../../framework/runtime.ts';

/** A time that is a slot's beginning but for its rounding belongs to that slot. */
const ROUNDING = 1e-6;

/** How long slots are, and how many timers one takes. */
export interface SlotSize {
  readonly ms: Millis;
  readonly callbacksMax: number;
}

interface Slot {
  readonly timer: Timer;
  readonly callbacks: Set<() => void>;
}

/**
 * Timers that fire together, one slot of time after the other: a process that has little to do
 * wakes up once for all of a slot. A slot that has `callbacksMax` takes no more where an earlier
 * one can.
 */
export class SlotTimers {
  readonly #clock: Clock;
  /** By the time when the slot fires, which is its beginning. */
  readonly #slots = new Map<Millis, Slot>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Fires after `delay`, or up to a slot earlier; still earlier where that slot is full. The
   * callbacks of a slot must not throw.
   */
  setTimer(delay: Millis, { ms: slotMs, callbacksMax }: SlotSize, callback: () => void): Timer {
    const now = this.#clock.now();
    let slot = Math.floor((now + delay) / slotMs + ROUNDING);
    while ((slot - 1) * slotMs > now && this.#sizeOf(slot * slotMs) >= callbacksMax) slot -= 1;
    const at = slot * slotMs;
    if (at <= now) return this.#clock.setTimer(delay, callback);
    const { timer, callbacks } = this.#slotAt(at, now);
    // The same function may be set several times.
    const own = (): void => callback();
    callbacks.add(own);
    return {
      cancel: () => {
        // A slot that nobody waits for keeps no process from its end.
        if (!callbacks.delete(own) || callbacks.size > 0) return;
        timer.cancel();
        this.#slots.delete(at);
      },
    };
  }

  #sizeOf(at: Millis): number {
    return this.#slots.get(at)?.callbacks.size ?? 0;
  }

  #slotAt(at: Millis, now: Millis): Slot {
    const known = this.#slots.get(at);
    if (known !== undefined) return known;
    const timer = this.#clock.setTimer(at - now, () => this.#fire(at));
    const slot = { timer, callbacks: new Set<() => void>() };
    this.#slots.set(at, slot);
    return slot;
  }

  #fire(at: Millis): void {
    const { callbacks } = this.#slots.get(at) ?? { callbacks: [] };
    this.#slots.delete(at);
    for (const callback of callbacks) callback();
  }
}
