import type { Outcome, Routed } from '../../framework/observer.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { DecisionEvent, JournalSubscriber } from '../../picker/events/journal.ts';
import { LatencyHistograms } from './latency-histogram.ts';
import type { LiveStep } from './live-message.ts';
import { RecentHits } from './recent-hits.ts';
import { RecentPicks } from './recent-picks.ts';

export const STEP_MS = 2000;
/**
 * A shorter wait is none to a person: flow control passes each request through a queue, which takes
 * microseconds where the pool has room.
 */
export const HELD_MS_MIN = 1;
/** Ten minutes. */
const STEPS = 300;

/**
 * Counts requests and times to first token in steps of time, so that a page shows the last minutes
 * as soon as it is opened. Without a viewer this is all that happens: some additions a request.
 */
export class LiveCounts implements JournalSubscriber {
  readonly hits: RecentHits = new RecentHits();
  /** The latest picks, kept only while there is a viewer. */
  readonly picks: RecentPicks = new RecentPicks();
  readonly #picked = new Uint32Array(STEPS);
  readonly #refused = new Uint32Array(STEPS);
  readonly #held = new Uint32Array(STEPS);
  readonly #failed = new Uint32Array(STEPS);
  readonly #counts = [this.#picked, this.#refused, this.#held, this.#failed];
  readonly #observed = new LatencyHistograms(STEPS);
  readonly #predicted = new LatencyHistograms(STEPS);
  /** When it began to count, in milliseconds since the epoch. */
  readonly startedMs: number;
  readonly #clock: Clock;
  /** The step that is being counted; steps are numbered from the clock's origin. */
  #step: number;
  readonly #firstStep: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.startedMs = Math.round(clock.wallTime());
    this.#step = Math.floor(clock.now() / STEP_MS);
    this.#firstStep = this.#step;
  }

  /** The number of the step that is being counted. */
  get step(): number {
    this.#advance(this.#clock.now());
    return this.#step;
  }

  onDecision({ at, error, options }: DecisionEvent): void {
    if (error !== undefined) return;
    const place = this.#advance(at);
    this.#picked[place] = (this.#picked[place] as number) + 1;
    if ((options.waited?.heldMs ?? 0) < HELD_MS_MIN) return;
    this.#held[place] = (this.#held[place] as number) + 1;
  }

  /** A client has been refused, for whatever reason: most refusals come without a decision. */
  onRefused(): void {
    const place = this.#advance(this.#clock.now());
    this.#refused[place] = (this.#refused[place] as number) + 1;
  }

  onRouted(routed: Routed): void {
    this.hits.add(routed);
    this.picks.add(routed);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    if (!routed.request.streaming) return;
    const place = this.#advance(at);
    const { heldMs = 0, expectedTtftMs } = routed;
    this.#observed.add(place, at - routed.at + heldMs);
    if (expectedTtftMs !== undefined) this.#predicted.add(place, expectedTtftMs + heldMs);
  }

  onDone(_routed: Routed, at: Millis, outcome: Outcome): void {
    if (outcome !== 'failed') return;
    const place = this.#advance(at);
    this.#failed[place] = (this.#failed[place] as number) + 1;
  }

  onEndpointRemoved({ slot }: { readonly slot: number }): void {
    this.hits.forget(slot);
  }

  /** The steps that have ended, from number `from` on, oldest first. */
  ended(from: number): readonly LiveStep[] {
    const now = this.#clock.now();
    this.#advance(now);
    const first = Math.max(from, this.#step - STEPS + 1, this.#firstStep);
    const wallOffset = this.#clock.wallTime() - now;
    return Array.from({ length: Math.max(0, this.#step - first) }, (_, at) =>
      this.#describe(first + at, wallOffset),
    );
  }

  /** Requests that went to an endpoint in the last so many milliseconds, up to ten minutes. */
  pickedIn(ms: Millis): number {
    return this.ended(this.step - Math.ceil(ms / STEP_MS)).reduce(
      (sum, { picked }) => sum + picked,
      0,
    );
  }

  #describe(step: number, wallOffset: number): LiveStep {
    const place = step % STEPS;
    const median = this.#observed.quantile(place, 0.5);
    return {
      wallMs: Math.round(step * STEP_MS + wallOffset),
      picked: this.#picked[place] as number,
      refused: this.#refused[place] as number,
      held: this.#held[place] as number,
      failed: this.#failed[place] as number,
      ttftMs:
        median === undefined
          ? null
          : {
              count: this.#observed.count(place),
              median: rounded(median),
              p95: rounded(this.#observed.quantile(place, 0.95) ?? median),
              predictedMedian: this.#predictedMedian(place),
            },
    };
  }

  #predictedMedian(place: number): number | null {
    const median = this.#predicted.quantile(place, 0.5);
    return median === undefined ? null : rounded(median);
  }

  /** Begins the step of this time and empties those that were skipped. Returns its place. */
  #advance(at: Millis): number {
    const step = Math.floor(at / STEP_MS);
    if (step > this.#step) {
      for (let next = Math.max(this.#step, step - STEPS) + 1; next <= step; next++) {
        const place = next % STEPS;
        for (const counts of this.#counts) counts[place] = 0;
        this.#observed.clear(place);
        this.#predicted.clear(place);
      }
      this.#step = step;
    }
    return this.#step % STEPS;
  }
}

function rounded(ms: number): number {
  return Math.round(10 * ms) / 10;
}
