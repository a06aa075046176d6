import type { InferenceRequest } from '../framework/request.ts';
import type { Millis } from '../framework/runtime.ts';
import type { KeptCore } from '../picker/cores/active-cores.ts';
import { PREPARATION_MS_MAX } from '../picker/cores/preparation.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import type { DecidedRecord } from './captured-inputs.ts';
import { predictsTimes } from './compare-decision.ts';

/** What a plan does, where it decides. */
export interface InCharge {
  /** Whether it predicts times to the first token: `predictsTimes`. */
  readonly predicts: boolean;
  /** Whether a replacement decides in place of its profiles. */
  readonly isReplaced: boolean;
}

export function inChargeBy(plan: PickerPlan): InCharge {
  return { predicts: predictsTimes(plan), isReplaced: plan.scheduler !== undefined };
}

interface Kept {
  readonly core: KeptCore;
  readonly plan: InCharge;
  /** Requests that it has still to decide. A client that left is among them, and has no record. */
  readonly undecided: number;
}

/** Cores that are not in charge any more, and still decide what they had begun to prepare. */
export class EarlierCores {
  /** By the number of adoptions before. */
  readonly #kept = new Map<
    number,
    { readonly kept: Kept; readonly endsAt: Millis; left: number }
  >();
  #adoptions = 0;

  /** Call it when another plan takes over: `kept` is the core before, where that decides on. */
  adopted(at: Millis, kept: Kept | undefined): void {
    for (const [adoptions, { endsAt }] of this.#kept) if (endsAt < at) this.#release(adoptions);
    if (kept !== undefined) {
      const endsAt = at + PREPARATION_MS_MAX;
      this.#kept.set(this.#adoptions, { kept, endsAt, left: kept.undecided });
    }
    this.#adoptions += 1;
  }

  /** Lets an earlier core decide the request, where the record says so; returns what it does. */
  assign({ adoptionsAgo }: DecidedRecord, request: InferenceRequest): InCharge | undefined {
    const { kept } = this.#before(adoptionsAgo) ?? {};
    kept?.core.decides(request);
    return kept?.plan;
  }

  /** The request of the record is decided and placed. */
  decided({ adoptionsAgo }: DecidedRecord): void {
    const earlier = this.#before(adoptionsAgo);
    if (earlier === undefined) return;
    earlier.left -= 1;
    if (earlier.left === 0) this.#release(this.#adoptions - (adoptionsAgo ?? 0));
  }

  #before(adoptionsAgo: number | undefined) {
    return adoptionsAgo === undefined ? undefined : this.#kept.get(this.#adoptions - adoptionsAgo);
  }

  #release(adoptions: number): void {
    this.#kept.get(adoptions)?.kept.core.release();
    this.#kept.delete(adoptions);
  }
}
