/** How many requests of this picker may be in flight at an endpoint. */
export interface CapacityPlan {
  /** At every endpoint whose label says nothing else; undefined for no bound. */
  readonly maxConcurrency?: number | undefined;
  /** The label of endpoints that says how many; undefined for none. */
  readonly maxConcurrencyLabel?: string | undefined;
}
