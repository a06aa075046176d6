import type { Outcome, RequestObserver, Routed, Usage } from '../framework/observer.ts';
import type { InferenceRequest } from '../framework/request.ts';

/** Mean answer of public chat traces (Azure 2023: 211, Mooncake: 343), until answers have been seen. */
const OUTPUT_TOKENS_PRIOR = 256;
/** Weight of the newest answer: remembers about the last hundred. */
const WEIGHT = 0.01;

/** How long answers tend to be, learned from the usage that model servers report. */
export class OutputLength implements RequestObserver {
  #mean = OUTPUT_TOKENS_PRIOR;

  /** Expected output tokens of a request: the running mean, or the client's cap where that is lower. */
  expected({ outputTokensMax }: InferenceRequest): number {
    return Math.min(this.#mean, outputTokensMax ?? Number.POSITIVE_INFINITY);
  }

  onDone(_routed: Routed, _at: number, outcome: Outcome, usage: Usage | undefined): void {
    if (outcome !== 'completed' || usage === undefined) return;
    this.#mean += WEIGHT * (usage.completionTokens - this.#mean);
  }
}
