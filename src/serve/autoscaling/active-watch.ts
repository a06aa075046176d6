import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/** How often it looks whether the pool has become active. */
const LOOK_MS: Millis = 1000;

/**
 * Calls its followers with whether the pool is active. It looks once for all of them, and does not
 * look without any.
 */
export class ActiveWatch {
  readonly #isActive: () => boolean;
  readonly #clock: Clock;
  readonly #followers = new Set<(active: boolean) => void>();
  #last: boolean | undefined;
  #timer: Timer | undefined;

  constructor(isActive: () => boolean, clock: Clock) {
    this.#isActive = isActive;
    this.#clock = clock;
  }

  get count(): number {
    return this.#followers.size;
  }

  /**
   * Calls `onChange` at once, and again with each change, until the returned function is called.
   */
  follow(onChange: (active: boolean) => void): () => void {
    if (this.#followers.size === 0) this.#look();
    // A function that is given twice is called twice: each call of `follow` makes a follower.
    const follower = (active: boolean): void => onChange(active);
    this.#followers.add(follower);
    follower(this.#last === true);
    return () => {
      if (this.#followers.delete(follower) && this.#followers.size === 0) this.#timer?.cancel();
    };
  }

  readonly #look = (): void => {
    this.#timer = this.#clock.setTimer(LOOK_MS, this.#look);
    const active = this.#isActive();
    if (active === this.#last) return;
    this.#last = active;
    for (const follower of this.#followers) follower(active);
  };
}
