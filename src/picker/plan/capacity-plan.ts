/** How many requests may be in flight at an endpoint. */
export interface CapacityPlan {
  /**
   * Most requests in flight at an endpoint whose label says no other number; undefined for no
   * bound.
   */
  readonly maxConcurrency?: number | undefined;
  /** The label in which an endpoint says how many; undefined where no label counts. */
  readonly maxConcurrencyLabel?: string | undefined;
  /** The part of these requests that this picker may send; undefined for all of them. */
  readonly part?: CapacityPart | undefined;
}

/** More pickers over one pool are not meant: each would have too few places. */
export const CAPACITY_PARTS_MAX = 64;

/** One of several pickers over one pool. */
export interface CapacityPart {
  /** From 1. */
  readonly number: number;
  /** How many pickers there are. */
  readonly of: number;
}
