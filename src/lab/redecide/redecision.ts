import type { CapturedDecision, CapturedRequest } from '../../journal/capture/capture-record.ts';
import type { Standing } from './ranking.ts';

/** One decision beside what it was. */
export interface Redecision {
  readonly n: number;
  readonly request: CapturedRequest;
  readonly was: CapturedDecision;
  readonly is: CapturedDecision;
  /** How this core ranks the endpoint that the request went to: 1 for none above it; undefined for one it did not score. */
  readonly place?: number | undefined;
  /** Why it did not go where the request went; only where that is asked for, and where the two differ. */
  readonly standing?: Standing | undefined;
  /** Another process or a module should have decided, and left it to the profiles. */
  readonly undecided?: true | undefined;
  /**
   * To a first token, by this core's own model: where the request went, where this core would have sent it, and the least of
   * all that may serve it.
   */
  readonly ttftMs?:
    | { readonly was: number; readonly is: number; readonly best: number }
    | undefined;
}

/** A first token that came, beside when it was expected where the request went. */
export interface FirstToken {
  readonly request: CapturedRequest;
  readonly predictedMs: number;
  readonly observedMs: number;
}

/** The same decision, to the last bit of its score. */
export function sameDecision(a: CapturedDecision, b: CapturedDecision): boolean {
  if ('error' in a || 'error' in b) return 'error' in a && 'error' in b && a.error === b.error;
  return a.endpoint === b.endpoint && Object.is(a.score, b.score) && a.prefill === b.prefill;
}
