import type { ResponseHeaderPlugin, ResponseReporter } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RequestObservers } from '../events/request-observers.ts';
import type { SchedulingCore } from './scheduling-core.ts';

/** A plan that decides some of the requests beside the plan in charge. */
export interface Challenger {
  /** `decidedBy` of what it decides. */
  readonly name: string;
  /** Whether the challenger decides this request. Asked several times, with equal answers. */
  readonly takes: (request: InferenceRequest) => boolean;
  /**
   * Called where its scheduler threw: `takes` must be false from then on, so that the core in
   * charge decides.
   */
  readonly onThrown: (request: InferenceRequest, error: unknown) => void;
}

/** A core, from its first decision until nothing needs it, with the observers of its requests. */
export interface Generation {
  readonly core: SchedulingCore;
  /** Undefined for the core in charge. */
  readonly challenger: Challenger | undefined;
  /** How many plans were adopted before it. */
  readonly adoptions: number;
  /** How often what decides had changed before it: a plan was adopted, or challenged, or no more. */
  readonly changes: number;
  readonly requestObservers: RequestObservers;
  /** The observers of requests that another replica has decided; the journal is none of them. */
  readonly elsewhereObservers: RequestObservers;
  readonly responseHeaderPlugins: readonly ResponseHeaderPlugin[];
  readonly reporters: readonly ResponseReporter[];
}
