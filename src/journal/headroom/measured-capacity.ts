import type { RequestMix } from '../../cost-model/capacity.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import { PRESENT_S } from './arrival-trend.ts';
import { enginesOf } from './server-figures.ts';
import { type MixedRequest, StageMix } from './stage-mix.ts';

/** What is known of a stage when a second is over. */
export interface SecondOfStage {
  readonly at: Millis;
  /** Whether one more request would have missed an objective. */
  readonly isSaturated: boolean;
  /** The endpoints that answer. */
  readonly answering: readonly Endpoint[];
  /** Requests that run there, of all pickers. */
  readonly running: number;
  /** The part of them that is counted here, above 0 and at most 1. */
  readonly counted: number;
}

/** What endpoints have served, and when. */
interface Shown {
  /** They may be able to serve more: they were not saturated, and no saturation has shown less. */
  readonly isLeast: boolean;
  /** Requests. */
  readonly perSecond: number;
  readonly mix: RequestMix;
  readonly answering: readonly Endpoint[];
  readonly at: Millis;
}

/** Requests per second that endpoints serve of such a mix, by the model of their engines now. */
export type ModelledPerSecond = (answering: readonly Endpoint[], mix: RequestMix) => number;

/** What servers showed under a fault or another load is half forgotten after so long. */
const HALF_LIFE_MS: Millis = 3_600_000;
/**
 * More than the model says is half forgotten much sooner: a model that stays low has learned that
 * the servers have become slower.
 */
const EXCESS_HALF_LIFE_MS: Millis = 120_000;

/**
 * Requests that ended, in those that run at a time: with fewer, it is chance whether one group more
 * or less ended in the time; with more, the older half is left out, where the other is long enough.
 */
const ROUNDS_MIN = 2;
const ROUNDS_MAX = 8;

/** Without saturation, what was longer ago says nothing about what is served now. */
const IDLE_MAX_S = 8 * PRESENT_S;
/** With so many times more or fewer engines, what ended before says nothing about what these serve. */
const POOL_CHANGE = 1.1;

/**
 * How much of its modelled capacity a stage has shown. While it is saturated, it serves all that it
 * can: as many requests as end then. That is less than the model says where something slows the
 * servers that the model does not know, such as a bound of requests that run at a time, and more
 * where the model is mistaken. It counts while the stage is saturated, for at least as long as
 * demand is a mean over and until twice as many requests have ended as run at a time. A stage that
 * serves more without being saturated has shown more.
 *
 * What is kept is no share, which would change with what the model learns, but what was seen:
 * requests per second, their mean sizes in tokens, and the endpoints. The share is that over what
 * the model says now of the same endpoints and sizes. So the model counts only by how it compares
 * other sizes and other endpoints with those. For equal ones the capacity is what was shown.
 */
export class MeasuredCapacity {
  readonly #modelled: ModelledPerSecond;
  /** Seconds of the present window, and requests that ended in it. */
  #seconds = 0;
  readonly #ended = new StageMix();
  /** Requests that ended with a whole answer, as far as that is known. */
  #answered = 0;
  /** Requests that were sent in the window. */
  #sent = 0;
  /** Whether those that end were sent before the window, when the load was another. */
  #isFirstRound = true;
  #engines = 0;
  #wasSaturated = false;
  #shown: Shown | undefined;

  constructor(modelled: ModelledPerSecond) {
    this.#modelled = modelled;
  }

  /** A request is sent there. */
  sent(): void {
    this.#sent += 1;
  }

  /**
   * A request has ended. It is answered where its server said how many tokens it wrote: others may
   * have been refused, or have left, and are no work, so that they never show more than the model.
   */
  ended(request: MixedRequest, isAnswered: boolean): void {
    // Kept whole until the window is cut.
    this.#ended.add(request, 0);
    if (isAnswered) this.#answered += 1;
  }

  /** What was shown over what the model says now, above 0; closer to 1 the longer ago it was. */
  shareAt(at: Millis): number {
    if (this.#shown === undefined) return 1;
    const { perSecond, mix, answering, isLeast } = this.#shown;
    const modelled = this.#modelled(answering, mix);
    const share = perSecond / modelled;
    if (modelled === 0 || (isLeast && share < 1)) return 1;
    const halfLifeMs = share > 1 ? EXCESS_HALF_LIFE_MS : HALF_LIFE_MS;
    return share ** (0.5 ** ((at - this.#shown.at) / halfLifeMs));
  }

  /** Call once a second. */
  look({ at, isSaturated, answering, running, counted }: SecondOfStage): void {
    const engines = enginesOf(answering);
    const isOther =
      Math.max(engines, this.#engines) > POOL_CHANGE * Math.min(engines, this.#engines);
    if (isSaturated !== this.#wasSaturated || isOther) {
      [this.#engines, this.#wasSaturated, this.#isFirstRound] = [engines, isSaturated, true];
      this.#keep(0);
      return;
    }
    this.#seconds += 1;
    const rounds = this.#ended.requests(0) / Math.max(1, running * counted);
    if (this.#isFirstRound) {
      this.#isFirstRound = rounds < 1;
      if (!this.#isFirstRound) this.#keep(0);
      return;
    }
    if (this.#seconds >= PRESENT_S && rounds >= ROUNDS_MIN) {
      this.#show({ at, isSaturated, answering, counted });
    }
    const isIdleLong = !isSaturated && this.#seconds >= IDLE_MAX_S;
    const isLong = rounds >= ROUNDS_MAX && this.#seconds >= 2 * PRESENT_S;
    if (isLong || isIdleLong) this.#keep(0.5);
  }

  #show({ at, isSaturated, answering, counted }: Omit<SecondOfStage, 'running'>): void {
    const mix = this.#ended.mean;
    const modelled = mix === undefined ? 0 : this.#modelled(answering, mix);
    if (mix === undefined || modelled === 0) return;
    const perSecondOf = (requests: number): number => requests / counted / this.#seconds;
    // What ends after a load that was higher was mostly computed before the window.
    const sure = isSaturated ? this.#answered : Math.min(this.#answered, this.#sent);
    const ended = perSecondOf(this.#ended.requests(0));
    const perSecond = Math.max(perSecondOf(sure), Math.min(ended, modelled));
    const before = this.shareAt(at);
    if (isSaturated || perSecond / modelled > before)
      this.#shown = { perSecond, mix, answering, at, isLeast: !isSaturated && before >= 1 };
  }

  /** Leaves the rest of the window out. */
  #keep(part: number): void {
    this.#seconds *= part;
    this.#answered *= part;
    this.#sent *= part;
    this.#ended.keep(part);
  }
}
