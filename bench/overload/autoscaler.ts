import type { Clock, Millis } from '../../src/framework/runtime.ts';

export interface AutoscalerOptions {
  readonly clock: Clock;
  /** How many replicas are wanted now. */
  readonly wanted: () => number;
  /** How long a new replica takes until it serves. */
  readonly coldStartMs: Millis;
  readonly join: () => void;
  /** Takes one replica out of the pool: it ends what it has. */
  readonly leave: () => void;
  /** The number of replicas that serve. */
  readonly serving: () => number;
}

/** How often Kubernetes asks for the metric. */
const EVERY_MS: Millis = 15_000;
/** Fewer replicas only by the most that were wanted in this time, as Kubernetes does by default. */
const STABLE_MS: Millis = 300_000;
/** At once, at most so many times as many: the default of Kubernetes, or 4 where that is more. */
const GROWTH_MAX = 2;
const GROWTH_LEAST = 4;

/** Changes the number of replicas as a HorizontalPodAutoscaler with its defaults would. */
export class Autoscaler {
  /** The most that were ever asked for. */
  most = 0;
  readonly #options: AutoscalerOptions;
  readonly #wanted: { readonly at: Millis; readonly replicas: number }[] = [];
  #starting = 0;

  constructor(options: AutoscalerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.clock.setTimer(EVERY_MS, () => {
      this.#scale();
      this.start();
    });
  }

  #scale(): void {
    const { clock, wanted, serving, leave } = this.#options;
    const at = clock.now();
    const now = serving() + this.#starting;
    const allowed = Math.max(GROWTH_MAX * now, now + GROWTH_LEAST);
    const replicas = Math.max(1, Math.min(allowed, wanted()));
    this.#wanted.push({ at, replicas });
    while ((this.#wanted[0]?.at ?? at) < at - STABLE_MS) this.#wanted.shift();
    this.most = Math.max(this.most, replicas);
    for (let count = now; count < replicas; count++) this.#startOne();
    const stable = Math.max(...this.#wanted.map((each) => each.replicas));
    for (let count = serving(); count > stable; count--) leave();
  }

  #startOne(): void {
    const { clock, coldStartMs, join } = this.#options;
    this.#starting += 1;
    clock.setTimer(coldStartMs, () => {
      this.#starting -= 1;
      join();
    });
  }
}
