import type { InFlightView } from '../../framework/cycle-facts.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Fairness } from './fairness/fairness.ts';
import type { Before } from './fairness/flow.ts';
import type { Detector } from './saturation/saturation-detectors.ts';
import type { UsageLimit } from './saturation/usage-limits.ts';

/** What bounds and orders the requests of one priority. */
export interface BandParts {
  readonly maxBytes: number;
  readonly maxRequests: number;
  /** Instead of the common one; infinity for no limit. Left out: the common one. */
  readonly requestTtlMs?: Millis | undefined;
  readonly before: Before;
  /** Name in the configuration. Bands with the same name share one instance. */
  readonly fairness: string;
}

export interface DetectorPart {
  /** In the configuration. */
  readonly name: string;
  /** After so long what has changed can be seen. */
  readonly lagMs: Millis;
  create(inFlight: InFlightView): Detector;
}

export interface FlowControlParts {
  /** The limit of all bands together; infinity for no limit. */
  readonly maxBytes: number;
  readonly maxRequests: number;
  /** How long a request may wait while there are endpoints; infinity for no limit. */
  readonly requestTtlMs: Millis;
  /** How long a request may wait while there are no endpoints; infinity for no limit. */
  readonly noEndpointTtlMs: Millis;
  /** By priority. */
  readonly bands: ReadonlyMap<number, BandParts>;
  /** For every other priority. */
  readonly defaultBand: BandParts;
  /** For every other priority below 0. */
  readonly negativeBand: BandParts;
  /** By name in the configuration. */
  readonly fairness: ReadonlyMap<string, () => Fairness>;
  readonly detector: DetectorPart;
  readonly usageLimit: () => UsageLimit;
  /** Whether requests in flight with a priority below 0 make room for others. */
  readonly evicts: boolean;
}
