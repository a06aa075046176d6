/** How many requests may be in flight at an endpoint. */
export interface CapacityPlan {
  /** At every endpoint whose label says nothing else; undefined for no bound. */
  readonly maxConcurrency?: number | undefined;
  /** The label of endpoints that says how many; undefined for none. */
  readonly maxConcurrencyLabel?: string | undefined;
  /** The part of it that this picker may use; undefined for all of it. */
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
