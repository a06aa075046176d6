import type { ReplacementReport } from '../framework/replacement.ts';
import { PairedGain } from '../promotion/paired-gain.ts';
import type { FirstToken, Redecision } from '../redecide/redecision.ts';
import { ExplainedTally } from './explained-decisions.ts';
import { ParityTally } from './parity.ts';
import type { ShadowReport, UndecidedReport } from './shadow-messages.ts';

/**
 * Compares a shadow's decisions with those of the picker. Left out and counted are decisions that
 * the profiles made in place of its scheduler, and those that the shadow, promoted, made itself:
 * it would be compared with itself.
 */
export class ShadowComparison {
  readonly #name: string;
  readonly #tally = new ParityTally();
  readonly #gain = new PairedGain();
  readonly #explained = new ExplainedTally();
  #undecided = 0;
  #ownDecisions = 0;

  /** `name` is the shadow's, which `by` of a record has where it decided. */
  constructor(name: string) {
    this.#name = name;
  }

  add(decided: Redecision): void {
    const { was, ttftMs, explained, undecided = false } = decided;
    if ('endpoint' in was && was.by === this.#name) {
      this.#ownDecisions += 1;
      return;
    }
    if (undecided) {
      this.#undecided += 1;
      return;
    }
    this.#tally.add(decided);
    if (explained !== undefined) this.#explained.add(explained);
    if (ttftMs !== undefined) this.#gain.add(ttftMs.was, ttftMs.is);
  }

  /**
   * Counts for any decision: the accuracy of a prediction does not depend on which scheduler
   * decided.
   */
  firstToken(token: FirstToken): void {
    this.#tally.firstToken(token);
  }

  /** `replacement` is the state of the scheduler in place of the shadow's profiles, if any. */
  report(replacement: ReplacementReport | undefined): ShadowReport {
    return {
      ...this.#tally.report(),
      gain: this.#gain.report(),
      ownDecisions: this.#ownDecisions,
      explained: this.#explained.report(),
      ...(replacement !== undefined && { replacement: this.#undecidedOf(replacement) }),
    };
  }

  #undecidedOf(scheduler: ReplacementReport): UndecidedReport {
    const { name, declined, connected, cause, lastError } = scheduler;
    const trouble = connected === false ? (lastError ?? cause) : undefined;
    return {
      name,
      undecided: this.#undecided,
      reasons: Object.fromEntries(declined),
      ...(trouble !== undefined && { trouble }),
    };
  }
}
