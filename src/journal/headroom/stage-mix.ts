import type { RequestMix } from '../../cost-model/capacity.ts';
import type { Millis } from '../../framework/runtime.ts';

/** After this time a request counts for 1/e. */
const MEMORY_MS = 60_000;

/** One request of a mix. */
export interface MixedRequest
  extends Pick<RequestMix, 'promptTokens' | 'uncachedTokens' | 'outputTokens'> {
  /** Whether an idle endpoint answers it in time. */
  readonly isInTime: boolean;
}

/** The mean of the requests that a stage was sent, the recent ones foremost. */
export class StageMix {
  #requests = 0;
  #promptTokens = 0;
  #uncachedTokens = 0;
  #uncachedSquares = 0;
  #outputTokens = 0;
  /** Sums over the prompts that an idle endpoint answers in time. */
  #inTime = 0;
  #inTimePromptTokens = 0;
  #inTimeUncachedTokens = 0;
  #asOf: Millis = 0;

  /** The requests, each with its weight. */
  requests(at: Millis): number {
    return this.#requests * fading(this.#asOf, at);
  }

  add(request: MixedRequest, at: Millis): void {
    const { promptTokens, uncachedTokens, outputTokens, isInTime } = request;
    this.keep(fading(this.#asOf, at));
    this.#asOf = Math.max(at, this.#asOf);
    this.#requests += 1;
    this.#promptTokens += promptTokens;
    this.#uncachedTokens += uncachedTokens;
    this.#uncachedSquares += uncachedTokens ** 2;
    this.#outputTokens += outputTokens;
    if (!isInTime) return;
    this.#inTime += 1;
    this.#inTimePromptTokens += promptTokens;
    this.#inTimeUncachedTokens += uncachedTokens;
  }

  /** All that was added counts for this part of what it did. */
  keep(part: number): void {
    this.#requests *= part;
    this.#promptTokens *= part;
    this.#uncachedTokens *= part;
    this.#uncachedSquares *= part;
    this.#outputTokens *= part;
    this.#inTime *= part;
    this.#inTimePromptTokens *= part;
    this.#inTimeUncachedTokens *= part;
  }

  /** Undefined before the first request. */
  get mean(): RequestMix | undefined {
    if (this.#requests === 0) return undefined;
    return {
      promptTokens: this.#promptTokens / this.#requests,
      uncachedTokens: this.#uncachedTokens / this.#requests,
      uncachedSquares: this.#uncachedSquares / this.#requests,
      outputTokens: this.#outputTokens / this.#requests,
      inTime: this.#meanInTime,
    };
  }

  get #meanInTime(): RequestMix['inTime'] {
    const counted = Math.max(Number.MIN_VALUE, this.#inTime);
    return {
      share: this.#inTime / this.#requests,
      promptTokens: this.#inTimePromptTokens / counted,
      uncachedTokens: this.#inTimeUncachedTokens / counted,
    };
  }
}

function fading(from: Millis, to: Millis): number {
  return Math.exp(Math.min(0, from - to) / MEMORY_MS);
}
