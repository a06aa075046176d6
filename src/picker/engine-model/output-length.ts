import type { Outcome, RequestObserver, Routed, Usage } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';

/** Mean of public chat traces (Azure 2023: 211, Mooncake: 343), until answers are seen. */
const OUTPUT_TOKENS_PRIOR = 256;
/** Weight of the newest answer: remembers about the last hundred. */
const WEIGHT = 0.01;
/** This many answers of a kind weigh as much as the mean of all kinds. */
const COMMON_ANSWERS = 10;
/** Combinations of model and objective that are kept: the most recently used. */
const KINDS_MAX = 1000;

interface Kind {
  mean: number;
  answers: number;
}

/**
 * Expected output tokens, learned from the usage that model servers report. The mean of a model and
 * objective counts more, the more answers it has; the rest is the mean of all answers.
 */
export class OutputLength implements RequestObserver {
  #mean = OUTPUT_TOKENS_PRIOR;
  /** In the order of last use. */
  readonly #kinds = new Map<string, Kind>();

  /** Expected output tokens of a request; the client's cap where that is lower. */
  expected(request: InferenceRequest): number {
    const kind = this.#kinds.get(kindOf(request));
    const answers = kind?.answers ?? 0;
    const common = COMMON_ANSWERS * this.#mean;
    const mean = (common + answers * (kind?.mean ?? 0)) / (COMMON_ANSWERS + answers);
    return Math.min(mean, request.outputTokensMax ?? Number.POSITIVE_INFINITY);
  }

  onDone({ request }: Routed, _at: number, outcome: Outcome, usage: Usage | undefined): void {
    if (outcome !== 'completed' || usage === undefined) return;
    const tokens = usage.completionTokens;
    this.#mean += WEIGHT * (tokens - this.#mean);
    const key = kindOf(request);
    const kind = this.#kinds.get(key) ?? { mean: 0, answers: 0 };
    kind.answers = Math.min(kind.answers + 1, 1 / WEIGHT);
    // First a plain mean, then an exponential one.
    kind.mean += (tokens - kind.mean) / kind.answers;
    this.#kinds.delete(key);
    this.#kinds.set(key, kind);
    if (this.#kinds.size <= KINDS_MAX) return;
    const [oldest = ''] = this.#kinds.keys();
    this.#kinds.delete(oldest);
  }
}

function kindOf({ model, objective = '' }: InferenceRequest): string {
  return `${model}\n${objective}`;
}
