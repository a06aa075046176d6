import type { Endpoint } from '../../../framework/endpoint.ts';
import { servesRole } from '../../../framework/roles.ts';
import type { Millis } from '../../../framework/runtime.ts';
import { type Detector, STAGES, type Stage } from './saturation-detectors.ts';

/** The saturation of some endpoints, such as one, a subset, or the pool. */
export interface PoolSaturation {
  /** The saturation of the fuller stage: a request needs both. */
  readonly effective: number;
  /** The saturation of each stage that has endpoints. */
  readonly stages: ReadonlyMap<Stage, number>;
}

export interface SaturationRules {
  /** Whether one more request may be sent there; a stage without room counts as saturated. */
  readonly hasRoom?: ((endpoints: readonly Endpoint[]) => boolean) | undefined;
  /**
   * Leaves the endpoints that get requests now; some where any are given. An endpoint that gets
   * none has no load, and would say that there is room.
   */
  readonly takersAmong?: ((endpoints: readonly Endpoint[]) => readonly Endpoint[]) | undefined;
}

type Split = readonly (readonly [Stage, readonly Endpoint[]])[];

/**
 * Each stage is looked at by itself, because servers that are idle do not help where the others are
 * full. Servers that only encode count in no stage. Where no server has a stage, all count
 * together.
 */
export function poolSaturation(
  detector: Detector,
  { hasRoom = () => true, takersAmong = (endpoints) => endpoints }: SaturationRules = {},
): (endpoints: readonly Endpoint[], at: Millis) => PoolSaturation {
  // One array is asked about often: after each request that is placed.
  let last: readonly Endpoint[] | undefined;
  let split: Split = [];
  return (endpoints, at) => {
    if (endpoints !== last) [last, split] = [endpoints, splitByStage(endpoints)];
    const stages = new Map<Stage, number>();
    let effective = 0;
    for (const [stage, all] of split) {
      const serving = takersAmong(all);
      const measured = detector.saturation({ endpoints: serving, at, stage });
      const saturation = hasRoom(serving) ? measured : Math.max(1, measured);
      stages.set(stage, saturation);
      effective = Math.max(effective, saturation);
    }
    if (split.length === 0) {
      effective = detector.saturation({ endpoints: takersAmong(endpoints), at });
    }
    return { effective, stages };
  };
}

function splitByStage(endpoints: readonly Endpoint[]): Split {
  return STAGES.map(
    (stage) => [stage, endpoints.filter(({ labels }) => servesRole(labels, stage))] as const,
  ).filter(([, serving]) => serving.length > 0);
}
