import type { Clock, Millis, Timer } from '../../../../framework/runtime.ts';
import type { Log } from '../../../../runtime/log/log.ts';

/** Pods that start or are replaced take a moment. */
const CHECK_MS: Millis = 10_000;
/** The counts in a reason change often while pods start. */
const SAID_AGAIN_MS: Millis = 60_000;

interface EmptyPoolLogOptions {
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly pool: { readonly namespace: string; readonly name: string };
  readonly isEmpty: () => boolean;
  /** Undefined while that is not known. */
  readonly why: () => string | undefined;
}

/** Says in the log why a pool has no endpoint, and that it has some again. */
export class EmptyPoolLog {
  readonly #options: EmptyPoolLogOptions;
  #said: string | undefined;
  #saidAt: Millis = Number.NEGATIVE_INFINITY;
  #timer: Timer;

  constructor(options: EmptyPoolLogOptions) {
    this.#options = options;
    this.#timer = options.clock.setTimer(CHECK_MS, this.#check);
  }

  stop(): void {
    this.#timer.cancel();
  }

  readonly #check = (): void => {
    const { clock, log, pool, isEmpty, why } = this.#options;
    this.#timer = clock.setTimer(CHECK_MS, this.#check);
    if (!isEmpty()) {
      if (this.#said !== undefined) log.info({ pool }, 'the pool has endpoints');
      this.#said = undefined;
      return;
    }
    const reason = why();
    const isNews = this.#said === undefined || clock.now() - this.#saidAt >= SAID_AGAIN_MS;
    if (reason === undefined || reason === this.#said || !isNews) return;
    log.warn({ pool, reason }, 'the pool has no endpoint');
    this.#said = reason;
    this.#saidAt = clock.now();
  };
}
