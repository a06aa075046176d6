import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

interface Entry extends Timer {
  callback: (() => void) | undefined;
}

/**
 * Timers that fire together, one slot of time after the other: a process that has little to do
 * wakes up once for all of a slot.
 */
export class SlotTimers {
  readonly #clock: Clock;
  /** By the time when the slot fires, which is its beginning. */
  readonly #slots = new Map<Millis, Entry[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Fires after `delay`, or up to `slotMs` earlier. The callbacks of a slot must not throw. */
  setTimer(delay: Millis, slotMs: Millis, callback: () => void): Timer {
    const now = this.#clock.now();
    const at = Math.floor((now + delay) / slotMs) * slotMs;
    if (at <= now) return this.#clock.setTimer(delay, callback);
    let slot = this.#slots.get(at);
    if (slot === undefined) {
      slot = [];
      this.#slots.set(at, slot);
      this.#clock.setTimer(at - now, () => this.#fire(at));
    }
    const entry: Entry = {
      callback,
      cancel: () => {
        entry.callback = undefined;
      },
    };
    slot.push(entry);
    return entry;
  }

  #fire(at: Millis): void {
    const slot = this.#slots.get(at) ?? [];
    this.#slots.delete(at);
    for (const { callback } of slot) callback?.();
  }
}
