import { DecayingFit, type FitPrior } from '../../cost-model/decaying-fit.ts';
import { loadPerEngine } from '../../cost-model/engine-load.ts';
import type { StepTime } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import { type BusyPeriod, BusyPeriods } from './busy-periods.ts';
import { FADING, noiseMs, withoutOutlier } from './first-token-noise.ts';
import { OwnPrompts } from './own-prompts.ts';
import { predictMs, scaled } from './prompt-features.ts';
import { SpeedRatios } from './speed-ratios.ts';

/** Transfer of a token's keys and values: 128 KiB over 200 Gb RoCE. */
const TRANSFER_PER_TOKEN_MS = 0.0066;
/**
 * The features are: the time of the prompts of a busy period as the pool's model predicts it; 1,
 * for what is always added, in milliseconds; and the transfer. An accelerator for prompts may be
 * twice or half as fast as one that decodes, and links differ more.
 */
const PRIOR: FitPrior = { means: [1, 0, 1], deviations: [1, 20, 5] };
const LEAST = [0.05, 0, 0];

/** The end of a busy period, as a first token shows it. */
interface Shown {
  readonly slot: number;
  readonly period: BusyPeriod;
  /** When the prompt's last token was there to be computed at the server that decodes. */
  readonly arrivedAt: Millis;
  /** The transfer by the prior. */
  readonly sentMs: Millis;
}

/**
 * Learns how fast the servers are that compute prompts for others, compared with those that compute
 * their own. What they show is the first token that the other server gives: it comes after the
 * prompts that were sent there before, its own prompt, the transfer, and the front end and a step of
 * the other server. The last two are known from prompts that are computed where they are decoded.
 * Prompts that wait for each other have only one transfer behind them all, which tells speed and
 * link apart where prompts share nothing.
 */
export class PrefillSpeeds {
  readonly #fit = new DecayingFit(PRIOR);
  readonly #own = new OwnPrompts();
  readonly #periods = new BusyPeriods();
  /**
   * Ends of periods whose last prompt may have shared steps with the next one, by the request of
   * that. They count once its first token has come.
   */
  readonly #waiting = new Map<Routed, Shown>();
  readonly #ratios = new SpeedRatios((features) => predictMs(features, this.#coefficients));
  #coefficients = PRIOR.means;
  /** Nothing is learned in a pool whose prompts are all computed where they are decoded. */
  #isUsed = false;

  /** Slots of the servers that have computed prompts for others. */
  slots(): Iterable<number> {
    return this.#ratios.slots();
  }

  /** As of the last `update`. */
  stepTime(slot: number): StepTime {
    return scaled(this.#own.stepTime, (this.#coefficients[0] as number) * this.#ratios.ratio(slot));
  }

  /** A prompt that `prefill` is to compute. */
  onRouted(routed: Routed, prefill: Endpoint): void {
    this.#isUsed = true;
    this.#periods.sent(routed, prefill);
  }

  /** A prompt that was computed where it is decoded. */
  onOwnFirstToken(routed: Routed, ttftMs: Millis): void {
    if (this.#isUsed) this.#own.observe(routed, ttftMs);
  }

  /** A first token whose prompt `prefill` has computed. */
  onFirstToken(routed: Routed, { slot }: Endpoint, at: Millis): void {
    const { request, cachedTokens, expectedTpotMs = 0 } = routed;
    const sentMs = TRANSFER_PER_TOKEN_MS * Math.max(0, request.promptTokens - cachedTokens);
    const arrivedAt = at - expectedTpotMs - 2 * this.#own.stepTime.overheadMs;
    const computedAt = this.#mayHaveWaited(routed) ? undefined : arrivedAt - this.#wayMs(sentMs);
    const earlier = this.#waiting.get(routed);
    this.#waiting.delete(routed);
    const period = this.#periods.firstToken(routed, at, computedAt);
    if (computedAt === undefined) return;
    if (earlier !== undefined && this.#cameApart(earlier, computedAt)) this.#observe(earlier);
    if (period === undefined) return;
    const shown = { slot, period, arrivedAt, sentMs };
    const next = period.next?.underWay;
    if (!this.#mayShareSteps(shown)) this.#observe(shown);
    else if (next !== undefined) this.#waiting.set(next, shown);
  }

  #observe({ slot, period, arrivedAt, sentMs }: Shown): void {
    const wayMs = this.#wayMs(sentMs);
    const busyMs = predictMs(period.features, this.#own.coefficients);
    const features = [busyMs];
    const predictedMs = predictMs(features, this.#coefficients);
    const observedMs = arrivedAt - period.since - wayMs;
    const value = wayMs + observedMs / this.#ratios.ratio(slot);
    this.#ratios.observe(slot, { features, observedMs, predictedMs });
    this.#fit.observe([busyMs, 1, sentMs], {
      value: withoutOutlier(value, predictedMs + wayMs),
      deviation: noiseMs(predictedMs + wayMs),
      fading: FADING,
    });
  }

  #wayMs(sentMs: Millis): Millis {
    const [, addedMs = 0, times = 0] = this.#coefficients;
    return addedMs + times * sentMs;
  }

  /** How long such prompts take alone at a server. */
  #aloneMs(features: readonly number[], slot: number): Millis {
    const ownMs = predictMs(features, this.#own.coefficients);
    return this.#ratios.ratio(slot) * predictMs([ownMs], this.#coefficients);
  }

  /**
   * Whether it may have waited for other prompts at the server that decodes, and not for its own:
   * these take longer than its own was expected to.
   */
  #mayHaveWaited({ load, endpoint, expectedTtftMs = 0 }: Routed): boolean {
    const { pendingPrefillTokens } = loadPerEngine(load, endpoint);
    return this.#own.stepTime.perPrefillTokenMs * pendingPrefillTokens > expectedTtftMs;
  }

  /**
   * Whether the next prompt was there before the last one of the period was begun: then it may have
   * been computed in the same steps, and the time is that of both.
   */
  #mayShareSteps({ slot, period, arrivedAt, sentMs }: Shown): boolean {
    const { last, next } = period;
    if (next === undefined) return false;
    return next.at < arrivedAt - this.#wayMs(sentMs) - this.#aloneMs(last, slot);
  }

  /**
   * Whether the next prompt was computed by so much later that most of it came afterwards: then it
   * shared no steps, but waited, for the link if not for the server.
   */
  #cameApart({ slot, period, arrivedAt, sentMs }: Shown, nextComputedAt: Millis): boolean {
    const apartMs = nextComputedAt - (arrivedAt - this.#wayMs(sentMs));
    return apartMs > this.#aloneMs(period.next?.features ?? [], slot) / 2;
  }

  onDone(routed: Routed): void {
    this.#periods.ended(routed);
    this.#waiting.delete(routed);
  }

  update(): void {
    if (!this.#isUsed) return;
    this.#own.update();
    this.#coefficients = this.#fit.solveAbove(LEAST);
    this.#ratios.update();
  }

  forget(slot: number): void {
    this.#ratios.forget(slot);
    this.#periods.forget(slot);
    for (const [next, shown] of this.#waiting) {
      if (shown.slot === slot) this.#waiting.delete(next);
    }
  }
}
