import type { Outcome, RequestObserver, Routed, Usage } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';

/** Mean answer of public chat traces (Azure 2023: 211, Mooncake: 343), until answers have been seen. */
const OUTPUT_TOKENS_PRIOR = 256;
/** Weight of the newest answer: remembers about the last hundred. */
const WEIGHT = 0.01;
/** So many answers of a kind count as much as what all kinds have in common. */
const COMMON_ANSWERS = 10;
/** Models and objectives that are told apart; the one unused for longest is forgotten first. */
const KINDS_MAX = 1000;

interface Kind {
  mean: number;
  answers: number;
}

/**
 * How long answers tend to be, learned from the usage that model servers report: for each model and objective, as far as
 * its own answers say, and else as all answers are.
 */
export class OutputLength implements RequestObserver {
  #mean = OUTPUT_TOKENS_PRIOR;
  /** In order of last use. */
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
    // A plain mean of the first ones, then a running one.
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
