import type { Millis, Random } from '../../src/framework/runtime.ts';
import { near } from './normal.ts';

/**
 * Times of a request as llm-d-inference-sim takes them: drawn for each request and token, whatever
 * else the batch computes. All in model time.
 */
export interface Timings {
  /** Which times count for the prompt; `''`: the constant ones where one is above 0. */
  readonly calculator: '' | 'constant' | 'per-token';
  readonly firstTokenMs: Millis;
  readonly firstTokenDeviationMs: Millis;
  readonly prefillOverheadMs: Millis;
  readonly prefillPerTokenMs: Millis;
  readonly prefillDeviationMs: Millis;
  readonly interTokenMs: Millis;
  readonly interTokenDeviationMs: Millis;
  /** How long the KV of a prompt takes that another server has computed. */
  readonly transferMs: Millis;
  readonly transferDeviationMs: Millis;
  readonly transferPerTokenMs: Millis;
  readonly transferTokensDeviationMs: Millis;
  /** Factor on all times but transfers when the batch is full; 1 with a single sequence. */
  readonly loadFactor: number;
}

export const NO_TIME: Timings = {
  calculator: '',
  firstTokenMs: 0,
  firstTokenDeviationMs: 0,
  prefillOverheadMs: 0,
  prefillPerTokenMs: 0,
  prefillDeviationMs: 0,
  interTokenMs: 0,
  interTokenDeviationMs: 0,
  transferMs: 0,
  transferDeviationMs: 0,
  transferPerTokenMs: 0,
  transferTokensDeviationMs: 0,
  loadFactor: 1,
};

interface TimesOptions {
  /** The times in force; read anew for each draw. */
  readonly timings: () => Timings;
  readonly random: Random;
  readonly sequencesMax: number;
}

/** Draws the times of requests and tokens. */
export class DrawnTimes {
  /** A further factor on all times; Infinity is a hung accelerator, which arms no timer. */
  slowdown = 1;
  readonly #options: TimesOptions;

  constructor(options: TimesOptions) {
    this.#options = options;
  }

  get hung(): boolean {
    return this.slowdown === Number.POSITIVE_INFINITY;
  }

  /** Time of a prompt of which `tokens` are not cached, beside `running` sequences. */
  prefillMs(tokens: number, running: number): Millis {
    const { random } = this.#options;
    const timings = this.#options.timings();
    const { firstTokenMs, firstTokenDeviationMs, prefillOverheadMs, prefillPerTokenMs } = timings;
    const drawn = isConstant(timings, firstTokenMs + firstTokenDeviationMs)
      ? near(firstTokenMs, firstTokenDeviationMs, random)
      : near(prefillOverheadMs + tokens * prefillPerTokenMs, timings.prefillDeviationMs, random);
    return drawn * this.#loadFactor(running) * this.#pace;
  }

  interTokenMs(running: number): Millis {
    const { interTokenMs, interTokenDeviationMs } = this.#options.timings();
    const drawn = near(interTokenMs, interTokenDeviationMs, this.#options.random);
    return drawn * this.#loadFactor(running) * this.#pace;
  }

  /** Time until the KV of a prompt of `tokens` tokens is here: a network does not mind load. */
  transferMs(tokens: number): Millis {
    const { random } = this.#options;
    const timings = this.#options.timings();
    const { transferMs, transferDeviationMs, transferPerTokenMs } = timings;
    const drawn = isConstant(timings, transferMs + transferDeviationMs)
      ? near(transferMs, transferDeviationMs, random)
      : near(tokens * transferPerTokenMs, timings.transferTokensDeviationMs, random);
    return drawn * this.#pace;
  }

  #loadFactor(running: number): number {
    const { timings, sequencesMax } = this.#options;
    if (sequencesMax <= 1) return 1;
    return 1 + ((timings().loadFactor - 1) * (running - 1)) / (sequencesMax - 1);
  }

  get #pace(): number {
    return this.hung ? 1 : this.slowdown;
  }
}

function isConstant({ calculator }: Timings, constantMs: Millis): boolean {
  return calculator === 'constant' || (calculator === '' && constantMs > 0);
}
