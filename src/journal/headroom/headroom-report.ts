import type { CapacityLimit } from '../../cost-model/capacity.ts';
import type { EndpointId } from '../../framework/endpoint.ts';

/** What is used, what could be, and the difference; per second. */
export interface Rates {
  readonly used: number;
  readonly capacity: number;
  readonly left: number;
}

/** `all` where every server computes prompts and answers. */
export const HEADROOM_STAGES = ['all', 'prefill', 'decode'] as const;
export type HeadroomStage = (typeof HEADROOM_STAGES)[number];

/**
 * What would end goodput first; `shown` where the servers have shown less than the model of them
 * says, `flow-control` where that lets nothing through, and `failing` where requests fail at all
 * endpoints, so that there is no capacity.
 */
export type Limit = CapacityLimit | 'shown' | 'flow-control' | 'failing';

/** The headroom of the servers of one stage. */
export interface StageHeadroom {
  readonly stage: HeadroomStage;
  readonly endpoints: number;
  /** Pods, or groups of pods: the unit of an autoscaler. */
  readonly replicas: number;
  /**
   * At the present mix of requests. Undefined until a request has come, and while requests fail at
   * all endpoints.
   */
  readonly requestsPerSecond: Rates | undefined;
  /** Tokens of prompts, cached ones included, and of answers. */
  readonly tokensPerSecond: Rates | undefined;
  /**
   * What is used over the capacity; 0 until a request has come. Undefined while requests fail at all
   * endpoints.
   */
  readonly utilization: number | undefined;
  /**
   * The saturation of the least saturated endpoint, or by what waits at the picker: above 1, one
   * more request lowers goodput.
   */
  readonly saturation: number;
  /** Undefined where demand does not grow towards the capacity. */
  readonly secondsToSaturation: number | undefined;
  /** Whole ones, and no fewer than there are before demand was watched for the lead time. */
  readonly desiredReplicas: number;
  /**
   * What the requests that come to this picker need, as a fraction and without a floor: those of
   * several pickers add up. Undefined while the capacity is not known.
   */
  readonly neededReplicas: number | undefined;
  readonly limit: Limit | undefined;
}

export interface HeadroomReport {
  /** Requests that wait at the picker. */
  readonly waiting: number;
  /** Whether anything came in the last minute, waits, or is in flight. */
  readonly active: boolean;
  readonly stages: readonly StageHeadroom[];
  /** The saturation of each endpoint, by id. */
  readonly endpoints: ReadonlyMap<EndpointId, number>;
}
