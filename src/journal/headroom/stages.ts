import type { Endpoint } from '../../framework/endpoint.ts';
import { servesRole } from '../../framework/roles.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import type { HeadroomStage } from './headroom-report.ts';
import type { StageMix } from './stage-mix.ts';

const APART = ['prefill', 'decode'] as const;
/** A stage that so few requests went to needs no first server for them. */
const FEW = 0.01;

export interface StageEndpoints {
  readonly stage: HeadroomStage;
  readonly endpoints: readonly Endpoint[];
}

/**
 * The stages that autoscalers may ask for. A stage without servers is one of them: its autoscaler
 * starts the first one. Where only the configuration or an earlier request says that prompts are
 * computed apart, all servers together are one of them, too.
 */
export class Stages {
  #apart: boolean;
  /** The share of the requests that a stage got while it had servers. */
  readonly #shares = new Map<HeadroomStage, number>();

  constructor(plan?: PickerPlan) {
    this.#apart = plan !== undefined && hasPrefillProfile(plan);
  }

  /** Another configuration decides from now on. */
  adopt(plan: PickerPlan): void {
    this.#apart = hasPrefillProfile(plan);
  }

  /** A prompt is computed apart. */
  sawPrefill(): void {
    this.#apart = true;
  }

  of(pool: readonly Endpoint[]): readonly StageEndpoints[] {
    const all: StageEndpoints = { stage: 'all', endpoints: pool };
    const apart = APART.map((stage) => ({
      stage,
      endpoints: pool.filter(({ labels }) => servesRole(labels, stage)),
    }));
    const isSplit = pool.some(
      ({ labels }) => servesRole(labels, 'prefill') && !servesRole(labels, 'decode'),
    );
    if (isSplit) return apart;
    // The last stage says the saturation of an endpoint: that as one of all.
    return this.#apart ? [...apart, all] : [all];
  }

  /** Remembers the share of a stage that has servers. */
  learn({ stage, endpoints }: StageEndpoints, mix: StageMix, all: StageMix, at: Millis): void {
    if (endpoints.length > 0) this.#shares.set(stage, shareIn(mix, all, at));
  }

  /** The share of all requests that this stage gets; of a stage without servers, would get. */
  shareOf({ stage, endpoints }: StageEndpoints, mix: StageMix, all: StageMix, at: Millis): number {
    if (endpoints.length > 0) return shareIn(mix, all, at);
    const share = this.#shares.get(stage) ?? 1;
    return share < FEW ? 0 : share;
  }
}

/** All of them before the first request. */
function shareIn(mix: StageMix, all: StageMix, at: Millis): number {
  const requests = all.requests(at);
  return requests === 0 ? 1 : Math.min(1, mix.requests(at) / requests);
}

function hasPrefillProfile({ profiles }: PickerPlan): boolean {
  return profiles.some(({ plugins }) =>
    plugins.some(({ plugin }) => plugin.definition.type === 'prefill-filter'),
  );
}
