import type { Millis } from '../../framework/runtime.ts';

/** What a configuration asks of flow control, as data: every reference is resolved. */

/** A plugin of the configuration, with checked parameters. */
export interface PlannedPolicy {
  readonly name: string;
  readonly type: string;
  readonly config: unknown;
}

export interface DetectorPlan extends PlannedPolicy {
  /** The detectors that it combines. */
  readonly children: readonly DetectorPlan[];
}

export interface BandPlan {
  readonly maxBytes: number;
  readonly maxRequests: number;
  /** Instead of the common one; infinity for no limit. */
  readonly requestTtlMs?: Millis | undefined;
  readonly ordering: PlannedPolicy;
  readonly fairness: PlannedPolicy;
}

export interface FlowControlPlan {
  /** The limit of all bands together; infinity for no limit. */
  readonly maxBytes: number;
  readonly maxRequests: number;
  /** How long a request may wait while there are endpoints; infinity for no limit. */
  readonly requestTtlMs: Millis;
  /** How long a request may wait while there are no endpoints; infinity for no limit. */
  readonly noEndpointTtlMs: Millis;
  /** By priority. */
  readonly bands: ReadonlyMap<number, BandPlan>;
  /** For every other priority, and for every other one below 0. */
  readonly defaultBand: BandPlan;
  readonly negativeBand: BandPlan;
  readonly detector: DetectorPlan;
  readonly usageLimit: PlannedPolicy;
  /** Whether requests in flight with a priority below 0 make room for others. */
  readonly evicts: boolean;
}
