import type { WaitingOrder } from '../../flow/order.ts';
import type { Millis } from '../../framework/runtime.ts';

/** Whether requests wait at the picker until an endpoint can begin them, and how many may. */
export interface HoldPlan {
  readonly enabled: boolean;
  /** A request that would be one more is refused. */
  readonly maxRequests: number;
  /** The bytes of the bodies of all that wait. */
  readonly maxBytes: number;
  /** A request that has waited so long is refused. */
  readonly maxWaitMs: Millis;
  /** The order among requests of one priority whose endpoints can begin them. */
  readonly order: WaitingOrder;
}

export const DEFAULT_HOLD: HoldPlan = {
  enabled: true,
  maxRequests: 20_000,
  maxBytes: 512 * 1024 * 1024,
  maxWaitMs: 600_000,
  order: 'response-ratio',
};
