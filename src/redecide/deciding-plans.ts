import type { InferenceRequest } from '../framework/request.ts';
import type { CaptureRecord, DecidedRecord } from '../journal/capture/capture-record.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { uncapturedBy } from './captured-plan.ts';
import { EarlierCores, type InCharge, inChargeBy } from './earlier-cores.ts';
import { RepeatedShadow } from './repeated-shadow.ts';
import type { ReplayClock } from './replay-clock.ts';

interface DecidingPlansOptions {
  readonly picker: EndpointPicker;
  readonly clock: Pick<ReplayClock, 'setUp'>;
  /** The plan with which the picker was made. */
  readonly plan: PickerPlan;
  /** The plan of a configuration in the capture. Throws ConfigError. */
  readonly planOf: (captured: unknown) => PickerPlan;
  /** Whether the capture's own configurations decide; if not, the given one decides all. */
  readonly isOwn: boolean;
  /** Called with what a plan knew that is not in the capture. */
  readonly onUncaptured: (what: string) => void;
}

/** What decides one request. */
interface DecidingPlan {
  /** Whether it predicts times to the first token. */
  readonly predicts: boolean;
  /** Whether it is a shadow that decided some requests beside the plan in charge. */
  readonly isShadow: boolean;
}

/**
 * The plans that decide the requests of a capture: the one in charge, a shadow beside it, and
 * earlier ones that still decide what they had begun to prepare.
 */
export class DecidingPlans {
  readonly #options: DecidingPlansOptions;
  readonly #earlier: EarlierCores;
  readonly #shadow: RepeatedShadow;
  #inCharge: InCharge;

  constructor(options: DecidingPlansOptions) {
    this.#options = options;
    this.#earlier = new EarlierCores(options.picker);
    this.#shadow = new RepeatedShadow(options);
    this.#noteUncaptured(options.plan);
    this.#inCharge = inChargeBy(options.plan);
  }

  /** Whether a replacement decides in place of the profiles. */
  get isReplaced(): boolean {
    return this.#inCharge.isReplaced;
  }

  /** Follows the capture's own configurations. A given one stays, and nothing decides beside it. */
  change(record: Extract<CaptureRecord, { e: 'adopt' | 'challenge' | 'withdraw' }>): void {
    const { clock, isOwn } = this.#options;
    if (!isOwn) return;
    this.#earlier.change(record, { inCharge: this.#inCharge, shadow: this.#shadow.running });
    clock.setUp(record.t, () => {
      if (record.e === 'challenge') return this.#shadow.begin(record);
      this.#shadow.end();
      if (record.e === 'adopt') this.#adopt(record.config);
    });
  }

  /** Call it before the request is decided: its record says by which plan. */
  assign(record: DecidedRecord, request: InferenceRequest): DecidingPlan {
    const earlier = this.#earlier.assign(record, request);
    const current = this.#options.isOwn ? this.#shadow.assign(record, request) : undefined;
    const shadow = earlier === undefined ? current : earlier.shadow;
    const { predicts } = shadow ?? earlier?.inCharge ?? this.#inCharge;
    return { predicts, isShadow: shadow !== undefined };
  }

  /** The request of the record is decided and placed. */
  decided(record: DecidedRecord): void {
    this.#earlier.decided(record);
  }

  #adopt(config: unknown): void {
    const { picker, planOf } = this.#options;
    const plan = planOf(config);
    this.#noteUncaptured(plan);
    picker.adopt(plan);
    this.#inCharge = inChargeBy(plan);
  }

  #noteUncaptured(plan: PickerPlan): void {
    for (const what of uncapturedBy(plan)) this.#options.onUncaptured(what);
  }
}
