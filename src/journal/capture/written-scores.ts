import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import type { CapturedPick } from './capture-record.ts';

/** What decided until a change, by whether its scores may be written. */
interface Deciding {
  readonly inCharge: boolean;
  readonly challenger?: { readonly name: string; readonly isWritten: boolean } | undefined;
}

/**
 * What was replaced decides what it had begun to prepare, which takes a minute at most: more changes
 * do not come in one. Scores of what was replaced before are not written.
 */
const CHANGES_MAX = 100;

/** Hashes of prompts are no scores to write: a guessed prompt could be compared with them. */
export class WrittenScores {
  /** The newest first. */
  readonly #deciding: Deciding[] = [];

  adopted(plan: PickerPlan): void {
    this.#add({ inCharge: !hashesPrompts(plan) });
  }

  challenged(plan: PickerPlan, name: string): void {
    const challenger = { name, isWritten: !hashesPrompts(plan) };
    this.#add({ inCharge: this.#deciding[0]?.inCharge ?? false, challenger });
  }

  withdrawn(): void {
    this.#add({ inCharge: this.#deciding[0]?.inCharge ?? false });
  }

  /** Whether the score may be written that what was replaced so many changes ago has given. */
  allow({ by }: Pick<CapturedPick, 'by'>, changesAgo: number): boolean {
    const { inCharge = false, challenger } = this.#deciding[changesAgo] ?? {};
    return by !== undefined && by === challenger?.name ? challenger.isWritten : inCharge;
  }

  #add(deciding: Deciding): void {
    if (this.#deciding.unshift(deciding) > CHANGES_MAX) this.#deciding.pop();
  }
}

function hashesPrompts({ plugins, scheduler }: PickerPlan): boolean {
  const hashes = plugins.some(({ definition }) => definition.hashesPrompt === true);
  return hashes || scheduler?.definition.hashesPrompt === true;
}
