import type { Outcome, RequestObserver, Routed, Usage } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';

/** Mean of public chat traces (Azure 2023: 211, Mooncake: 343), until answers are seen. */
const OUTPUT_TOKENS_PRIOR = 256;
/** Weight of the newest answer: about the last hundred count. */
const WEIGHT = 0.01;
/** This many answers of a kind weigh as much as the mean of all kinds. */
const COMMON_ANSWERS = 10;
/** Combinations of model and objective that are kept: the most recently used. */
const KINDS_MAX = 1000;
/**
 * An answer counts as at most so many times what was expected, or the prior where that is more. A
 * model whose answers are longer than that is still followed, within a few answers; one false count
 * moves the mean of all by less than a sixth.
 */
const OUTLIER_FACTOR = 16;
/** Longer than the longest answer that models give: a server that claims more is wrong. */
const ANSWER_TOKENS_MAX = 131_072;

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
  #newest = '';
  /** The last key that was made. Most requests are for one model, and a new key must be hashed. */
  #lastKey = { model: '', objective: '', key: '\n' };

  /** Expected output tokens of a request; the client's cap where that is lower. */
  expected(request: InferenceRequest): number {
    const mean = this.#expectedOf(this.#kinds.get(this.#keyOf(request)));
    return Math.min(mean, request.outputTokensMax ?? Number.POSITIVE_INFINITY);
  }

  onDone({ request }: Routed, _at: number, outcome: Outcome, usage: Usage | undefined): void {
    if (outcome !== 'completed' || usage === undefined) return;
    const key = this.#keyOf(request);
    const known = this.#kinds.get(key);
    const tokens = this.#counted(usage.completionTokens, request, known);
    if (tokens === undefined) return;
    this.#mean += WEIGHT * (tokens - this.#mean);
    const kind = known ?? { mean: 0, answers: 0 };
    kind.answers = Math.min(kind.answers + 1, 1 / WEIGHT);
    // First a plain mean, then an exponential one.
    kind.mean += (tokens - kind.mean) / kind.answers;
    if (key === this.#newest) return;
    this.#newest = key;
    this.#kinds.delete(key);
    this.#kinds.set(key, kind);
    if (this.#kinds.size <= KINDS_MAX) return;
    const [oldest = ''] = this.#kinds.keys();
    this.#kinds.delete(oldest);
  }

  #keyOf({ model, objective = '' }: InferenceRequest): string {
    const last = this.#lastKey;
    if (model === last.model && objective === last.objective) return last.key;
    const key = `${model}\n${objective}`;
    this.#lastKey = { model, objective, key };
    return key;
  }

  #expectedOf(kind: Kind | undefined): number {
    const answers = kind?.answers ?? 0;
    const common = COMMON_ANSWERS * this.#mean;
    return (common + answers * (kind?.mean ?? 0)) / (COMMON_ANSWERS + answers);
  }

  /** What an answer counts as; undefined where the server's count is no number of tokens. */
  #counted(
    tokens: number,
    { outputTokensMax = ANSWER_TOKENS_MAX }: InferenceRequest,
    kind: Kind | undefined,
  ): number | undefined {
    if (!(tokens >= 0 && tokens < Number.POSITIVE_INFINITY)) return undefined;
    const expected = Math.max(OUTPUT_TOKENS_PRIOR, this.#expectedOf(kind));
    return Math.min(tokens, outputTokensMax, ANSWER_TOKENS_MAX, OUTLIER_FACTOR * expected);
  }
}
