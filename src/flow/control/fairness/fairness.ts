import type { InferenceRequest } from '../../../framework/request.ts';
import type { Millis } from '../../../framework/runtime.ts';
import type { Served } from '../../discipline.ts';
import type { Before, Flow, Item } from './flow.ts';
import type { Programs } from './programs.ts';

/** Which flow of one band is next. It names only flows that have a first request. */
export interface BandFairness {
  /** The first request of the flow is another one than before, or it has none. */
  changed(flow: Flow): void;
  /** A pass over the waiting requests begins. */
  begin?(): void;
  next(at: Millis): Flow | undefined;
  placed?(item: Item, at: Millis): void;
  /**
   * Another replica has placed a request of the band. At its end the policy's `ended` is called.
   */
  placedElsewhere?(request: InferenceRequest, at: Millis): void;
  /** The band is dropped. It has no requests. */
  stop?(): void;
}

/** A fairness policy of a configuration. Bands that name the same plugin share what it learns. */
export interface Fairness {
  forBand(before: Before): BandFairness;
  /** Its accounts of programs, where it keeps some: for metrics. */
  readonly programs?: Programs;
  /** A request that waited in one of its bands, or at another replica, has ended. */
  ended?(request: InferenceRequest, served: Served, at: Millis): void;
}
