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
  onFirstToken(routed: Routed, prefill: Endpoint, at: Millis): void {
    const { request, cachedTokens, expectedTpotMs = 0 } = routed;
    const sentMs = TRANSFER_PER_TOKEN_MS * Math.max(0, request.promptTokens - cachedTokens);
    const [, addedMs = 0, times = 0] = this.#coefficients;
    const wayMs = addedMs + times * sentMs;
    const arrivedAt = at - expectedTpotMs - 2 * this.#own.stepTime.overheadMs;
    const computedAt = this.#mayHaveWaited(routed) ? undefined : arrivedAt - wayMs;
    const period = this.#periods.firstToken(routed, at, computedAt);
    if (period === undefined || computedAt === undefined) return;
    if (this.#mayShareSteps(period, prefill, computedAt)) return;
    const busyMs = predictMs(period.features, this.#own.coefficients);
    const features = [busyMs];
    const predictedMs = predictMs(features, this.#coefficients);
    const observedMs = arrivedAt - period.since - wayMs;
    const value = wayMs + observedMs / this.#ratios.ratio(prefill.slot);
    this.#ratios.observe(prefill.slot, { features, observedMs, predictedMs });
    this.#fit.observe([busyMs, 1, sentMs], {
      value: withoutOutlier(value, predictedMs + wayMs),
      deviation: noiseMs(predictedMs + wayMs),
      fading: FADING,
    });
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
  #mayShareSteps({ last, nextAt }: BusyPeriod, { slot }: Endpoint, computedAt: Millis): boolean {
    if (nextAt === undefined) return false;
    const lastMs = predictMs([predictMs(last, this.#own.coefficients)], this.#coefficients);
    return nextAt < computedAt - this.#ratios.ratio(slot) * lastMs;
  }

  onDone(routed: Routed): void {
    this.#periods.ended(routed);
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
  }
}
