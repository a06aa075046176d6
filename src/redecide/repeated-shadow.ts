import { messageOf } from '../framework/error.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { CaptureRecord, DecidedRecord } from '../journal/capture/capture-record.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { uncapturedBy } from './captured-plan.ts';
import { type InCharge, inChargeBy, type RunningShadow } from './earlier-cores.ts';

export interface RepeatedShadowOptions {
  readonly picker: Pick<EndpointPicker, 'challenge' | 'withdraw'>;
  /** The plan of a configuration in the capture. Throws ConfigError. */
  readonly planOf: (captured: unknown) => PickerPlan;
  /** Called with what it knew that is not in the capture. */
  readonly onUncaptured: (what: string) => void;
}

/**
 * The shadow that decided some requests while the capture was written. Plugins that it shares with
 * the configuration in charge learn from what they score for it, so it decides these requests again.
 */
export class RepeatedShadow {
  readonly #options: RepeatedShadowOptions;
  #running: RunningShadow | undefined;
  /** Whether a record has said which shadow decides: captures of earlier builds have no such one. */
  #isKnown = false;
  /** The request that it decides now. */
  #request: InferenceRequest | undefined;

  constructor(options: RepeatedShadowOptions) {
    this.#options = options;
  }

  get running(): RunningShadow | undefined {
    return this.#running;
  }

  /**
   * It decides from now on. Where it cannot be repeated, its decisions are taken from the capture.
   */
  begin({ name, config }: Extract<CaptureRecord, { e: 'challenge' }>): void {
    const { picker, planOf, onUncaptured } = this.#options;
    this.end();
    this.#isKnown = true;
    let plan: PickerPlan;
    try {
      plan = planOf(config);
    } catch (error) {
      onUncaptured(`what plugins learned for the shadow ${name} (${messageOf(error)})`);
      return;
    }
    const missing = uncapturedBy(plan);
    if (plan.scheduler !== undefined || missing.length > 0) {
      const why = missing.length > 0 ? missing.join(', ') : 'its scheduler is not asked again';
      onUncaptured(`what plugins learned for the shadow ${name} (${why})`);
      return;
    }
    const takes = (request: InferenceRequest): boolean => request === this.#request;
    picker.challenge(plan, { name, takes, onThrown: () => undefined });
    this.#running = { name, plan: inChargeBy(plan) };
  }

  /** It decides no more, or another configuration is in charge. */
  end(): void {
    this.#options.picker.withdraw();
    this.#running = undefined;
  }

  /** Lets it decide the request where the record says that it did; returns what it does. */
  assign({ d, expected }: DecidedRecord, request: InferenceRequest): InCharge | undefined {
    this.#request = undefined;
    if (expected !== undefined && !this.#isKnown) {
      this.#options.onUncaptured('the configuration of a promoted shadow (no record has it)');
    }
    if (expected === undefined || d.by !== this.#running?.name) return undefined;
    this.#request = request;
    return this.#running?.plan;
  }
}
