import type { Registry } from 'prom-client';
import type { Clock, Millis, Timer } from '../../../framework/runtime.ts';
import { grouped } from '../../../framework/values/grouped.ts';
import { isoTime } from '../../../runtime/clock/iso-time.ts';
import type { LoopDelay } from '../../../runtime/clock/loop-delay.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { showMetric } from '../page/family.ts';

interface LoopWatchdogOptions {
  /** The event loop is late above this delay at p99 over one window; 0 for never. */
  readonly delayMaxMs: Millis;
  /** The delay since the last call. */
  readonly read: () => LoopDelay;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Long enough that one long step, such as the first decision, is not among the slowest 1 %. */
const WINDOW_MS = 5000;
/** While it is late, a p99 below this share of the bound ends that: else it would flap. */
const GOOD_AGAIN = 0.5;

export const LOOP_DELAY_MAX_MS = 100;

/**
 * Watches how late the event loop is: then requests wait for their decisions, whatever else is in
 * order. Shows the delay on the metrics page, and logs when it becomes late and when it is over.
 */
export class LoopWatchdog {
  readonly #options: LoopWatchdogOptions;
  #last: LoopDelay = { p99Ms: 0, maxMs: 0 };
  #lateSince: Millis | undefined;
  #timer: Timer;

  constructor(options: LoopWatchdogOptions) {
    this.#options = options;
    this.#register();
    this.#timer = options.clock.setTimer(WINDOW_MS, () => this.#look());
  }

  /** Why the picker is degraded, as a sentence; undefined while the loop is in time. */
  trouble(): string | undefined {
    if (this.#lateSince === undefined) return undefined;
    return `the event loop is ${grouped(Math.round(this.#last.p99Ms))} ms late (p99) since ${isoTime(this.#lateSince)}`;
  }

  stop(): void {
    this.#timer.cancel();
  }

  #look(): void {
    const { read, clock, delayMaxMs, log } = this.#options;
    this.#timer = clock.setTimer(WINDOW_MS, () => this.#look());
    this.#last = read();
    const bound = this.#lateSince === undefined ? delayMaxMs : delayMaxMs * GOOD_AGAIN;
    const isLate = delayMaxMs > 0 && this.#last.p99Ms > bound;
    if (isLate === (this.#lateSince !== undefined)) return;
    const { p99Ms, maxMs } = this.#last;
    const fields = { p99Ms: rounded(p99Ms), maxMs: rounded(maxMs), delayMaxMs };
    if (isLate) {
      this.#lateSince = clock.wallTime();
      log.warn(fields, 'the event loop is late: requests wait for their decisions');
    } else {
      const lateSince = isoTime(this.#lateSince ?? 0);
      this.#lateSince = undefined;
      log.info({ ...fields, lateSince }, 'the event loop is in time again');
    }
  }

  #register(): void {
    const { registry } = this.#options;
    const gauge = (name: string, help: string, read: () => readonly [object, number][]): void =>
      showMetric(registry, { name: `pointsman_event_loop_${name}`, help, type: 'gauge' }, () =>
        read().map(([labels, value]) => ({ labels: { ...labels }, value })),
      );
    gauge('delay_seconds', 'How late the event loop was in the last 5 seconds.', () => [
      [{ quantile: '0.99' }, this.#last.p99Ms / 1000],
      [{ quantile: '1' }, this.#last.maxMs / 1000],
    ]);
    gauge('late', '1 while it is later than the bound, else 0.', () => [
      [{}, this.#lateSince === undefined ? 0 : 1],
    ]);
  }
}

/** A difference of fractions may have 17 digits, which nobody can read. */
function rounded(ms: number): number {
  return Number(ms.toFixed(3));
}
