import type { CapturedDecision, CapturedRequest } from '../journal/capture/capture-record.ts';
import type { Explained } from './observed-differences.ts';
import type { Standing } from './standing.ts';

/** A recorded decision (`was`) beside the one made again (`is`). */
export interface Redecision {
  readonly n: number;
  readonly request: CapturedRequest;
  readonly was: CapturedDecision;
  readonly is: CapturedDecision;
  /**
   * The rank that this core gives the endpoint that the request went to: 1 where no score is
   * higher. Undefined for an endpoint that it did not score.
   */
  readonly place?: number | undefined;
  /** The endpoints that this core gives the highest score. Only where they are asked for. */
  readonly best?: readonly string[] | undefined;
  /** Why this core chose another endpoint. Only where that is asked for and the two differ. */
  readonly standing?: Standing | undefined;
  /** Why an observed picker's decision differs. Only of some of them. */
  readonly explained?: Explained | undefined;
  /** The configuration's replacement declined, so the profiles decided. */
  readonly undecided?: true | undefined;
  /**
   * Times to a first token, predicted by this core's own engine model: where the request went,
   * where this core would have sent it, and the least of all candidates.
   */
  readonly ttftMs?:
    | { readonly was: number; readonly is: number; readonly best: number }
    | undefined;
}

/** A first token that was seen, and the prediction for the endpoint that the request went to. */
export interface FirstToken {
  readonly request: CapturedRequest;
  readonly predictedMs: number;
  readonly observedMs: number;
}

/** Whether two decisions are equal, to the last bit of their scores. */
export function sameDecision(a: CapturedDecision, b: CapturedDecision): boolean {
  if ('error' in a || 'error' in b) return 'error' in a && 'error' in b && a.error === b.error;
  return a.endpoint === b.endpoint && Object.is(a.score, b.score) && a.prefill === b.prefill;
}
