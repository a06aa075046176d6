import type { InferenceRequest } from '../framework/request.ts';
import type { Millis } from '../framework/runtime.ts';
import type { CaptureRecord, DecidedRecord } from '../journal/capture/capture-record.ts';
import type { KeptCores } from '../picker/cores/active-cores.ts';
import { PREPARATION_MS_MAX } from '../picker/cores/preparation.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
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

/** A challenger that decides some requests by a plan of its own. */
export interface RunningShadow {
  readonly name: string;
  readonly plan: InCharge;
}

/** The plans that decide at the same time. */
interface Deciding {
  readonly inCharge: InCharge;
  /** Undefined also where the capture's challenger cannot be repeated. */
  readonly shadow: RunningShadow | undefined;
}

interface Kept extends Deciding {
  readonly cores: KeptCores;
  /** The number of adoptions before. */
  readonly adoptions: number;
  readonly endsByAdoption: boolean;
  readonly endsAt: Millis;
  /** Requests that they have still to decide. A client that left is among them, and has no record. */
  left: number;
}

/** Which of the kept cores decides: the challenger where `shadow` has its plan. */
export interface Assigned {
  readonly inCharge: InCharge;
  readonly shadow: InCharge | undefined;
}

/** A record of another plan that decides, or decides no more. */
type ChangeRecord = Extract<CaptureRecord, { e: 'adopt' | 'challenge' | 'withdraw' }>;

/** Cores that do not decide any more what comes, and still decide what they had begun to prepare. */
export class EarlierCores {
  readonly #picker: Pick<EndpointPicker, 'keepCores'>;
  /** By the number of changes before the one that ended them. */
  readonly #kept = new Map<number, Kept>();
  #changes = 0;
  #adoptions = 0;

  constructor(picker: Pick<EndpointPicker, 'keepCores'>) {
    this.#picker = picker;
  }

  /** Call it before the change that the record says: `before` has decided until now. */
  change({ e, t, undecided = 0 }: ChangeRecord, before: Deciding): void {
    for (const [changes, { endsAt }] of this.#kept) if (endsAt < t) this.#release(changes);
    const endsByAdoption = e === 'adopt';
    if (undecided > 0) {
      const cores = this.#picker.keepCores();
      const known = { ...before, cores, adoptions: this.#adoptions, endsByAdoption };
      this.#kept.set(this.#changes, { ...known, endsAt: t + PREPARATION_MS_MAX, left: undecided });
    }
    this.#changes += 1;
    if (endsByAdoption) this.#adoptions += 1;
  }

  /** Lets an earlier core decide the request, where the record says so; returns what it does. */
  assign(record: DecidedRecord, request: InferenceRequest): Assigned | undefined {
    const kept = this.#kept.get(this.#before(record));
    if (kept === undefined) return undefined;
    const { cores, inCharge, shadow } = kept;
    const isOfShadow = record.expected !== undefined && record.d.by === shadow?.name;
    cores.decides(request, isOfShadow ? 'challenger' : 'core in charge');
    return { inCharge, shadow: isOfShadow ? shadow?.plan : undefined };
  }

  /** The request of the record is decided and placed. */
  decided(record: DecidedRecord): void {
    const changes = this.#before(record);
    const earlier = this.#kept.get(changes);
    // One that has waited since was not being prepared any more.
    if (earlier === undefined || record.waitedMs !== undefined) return;
    earlier.left -= 1;
    if (earlier.left === 0) this.#release(changes);
  }

  /** The number of changes before the one that ended what decides the record; -1 where none did. */
  #before({ adoptionsAgo, changesAgo }: DecidedRecord): number {
    if (changesAgo !== undefined) return this.#changes - changesAgo;
    if (adoptionsAgo === undefined) return -1;
    const adoptions = this.#adoptions - adoptionsAgo;
    for (const [changes, kept] of this.#kept) {
      if (kept.endsByAdoption && kept.adoptions === adoptions) return changes;
    }
    return -1;
  }

  #release(changes: number): void {
    this.#kept.get(changes)?.cores.release();
    this.#kept.delete(changes);
  }
}
