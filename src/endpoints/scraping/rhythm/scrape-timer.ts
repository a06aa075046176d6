import type { EndpointMetrics } from '../../../framework/endpoint.ts';
import type { Clock, Millis, Random, Timer } from '../../../framework/runtime.ts';
import { Activity } from './activity.ts';
import type { NewScrapes } from './new-scrapes.ts';
import type { Rhythm } from './rhythm.ts';
import type { SlotSize, SlotTimers } from './slot-timers.ts';

/** Each scrape is early or late by up to this share of the interval: so scrapes stay spread. */
const JITTER = 0.1;
/** The interval doubles after each failure, up to this: a restarted server is found within 1 s. */
const BACKOFF_MAX_MS = 1000;
/**
 * The next scrape waits 1 ms for so many bytes searched in this page: about 2 % of a core. A usual
 * page takes a twentieth of that at the default interval.
 */
const WORK_BYTES_PER_MS = 80 * 1024;

interface ScrapeTimerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly rhythm: Rhythm;
  readonly slots: SlotTimers;
  /** Paces the scrapes until the first success, and those after a failure. */
  readonly newScrapes: NewScrapes;
  /** Called when a scrape shall begin: after this it is quiet until `next`. */
  readonly onDue: () => void;
}

/** Says when one endpoint is scraped: at once, and then in the rhythm of its pool. */
export class ScrapeTimer {
  readonly #options: ScrapeTimerOptions;
  readonly #activity: Activity;
  #timer: Timer;
  /** When the timer fires; undefined during a scrape. */
  #dueAt: Millis | undefined;
  #scrapes = 0;
  /** Whether the last scrape was answered. */
  #answers = false;

  constructor(options: ScrapeTimerOptions) {
    const { clock, rhythm } = options;
    this.#options = options;
    this.#activity = new Activity(rhythm, clock.now());
    this.#dueAt = clock.now();
    // A timer, so that all data sources of the pool have started before the first page is read.
    this.#timer = clock.setTimer(0, this.#onTimer);
  }

  stop(): void {
    this.#timer.cancel();
    this.#activity.stop();
  }

  /** Our requests make an endpoint busy at once, before its page can say so. */
  requestBegan(now: Millis): void {
    if (this.#activity.requestBegan(now)) this.#hasten(now);
  }

  requestEnded(now: Millis): void {
    if (this.#activity.requestEnded(now)) this.#hasten(now);
  }

  sampled(metrics: EndpointMetrics): void {
    this.#activity.sampled(metrics);
  }

  /**
   * Waits for the next scrape. The interval counts from when the last one was sent: a slow answer
   * does not stretch it, but failures and pages that take long do.
   */
  next(
    sentAt: Millis,
    { failures, workBytes }: { readonly failures: number; readonly workBytes: number },
  ): void {
    const { clock, random } = this.#options;
    this.#activity.age(clock.now());
    const interval = this.#activity.intervalMs;
    const backoff = interval * 2 ** Math.min(failures, 10);
    const rest = Math.max(backoff, workBytes / WORK_BYTES_PER_MS);
    const wanted = Math.min(rest, Math.max(BACKOFF_MAX_MS, interval));
    this.#scrapes += 1;
    this.#answers = failures === 0;
    const { slot } = this.#activity;
    const jitter = slot !== undefined ? 0 : JITTER * (2 * random.next() - 1);
    // Endpoints are often added together: their second scrapes are spread over a whole interval.
    const share = this.#scrapes === 1 ? random.next() : 1 + jitter;
    const delay = Math.max(0, sentAt + wanted * share - clock.now());
    if (slot !== undefined) this.#setInSlot(delay, slot);
    else this.#set(delay, this.#onTimer);
  }

  #setInSlot(delay: Millis, slot: SlotSize): void {
    const { clock, slots } = this.#options;
    this.#dueAt = clock.now() + delay;
    this.#timer = slots.setTimer(delay, slot, this.#onTimer);
  }

  /** Endpoints that become busy together are scraped at different moments. */
  #hasten(now: Millis): void {
    const delay = this.#activity.intervalMs * this.#options.random.next();
    if (this.#dueAt === undefined || this.#dueAt <= now + delay) return;
    this.#timer.cancel();
    this.#set(delay, this.#onTimer);
  }

  readonly #onTimer = (): void => {
    if (this.#answers) {
      this.#takeTurn();
      return;
    }
    const waiting = this.#options.newScrapes.begin(this.#takeTurn);
    if (waiting !== undefined) this.#timer = waiting;
  };

  readonly #takeTurn = (): void => {
    const { clock, rhythm } = this.#options;
    const waitMs = rhythm.waitMs(clock.now());
    if (waitMs === 0) this.#begin();
    else this.#set(waitMs, this.#begin);
  };

  readonly #begin = (): void => {
    this.#dueAt = undefined;
    this.#options.onDue();
  };

  #set(delay: Millis, callback: () => void): void {
    const { clock } = this.#options;
    this.#dueAt = clock.now() + delay;
    this.#timer = clock.setTimer(delay, callback);
  }
}
