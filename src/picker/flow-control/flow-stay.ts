import type { FlowPlace } from '../../flow/control/flow-place.ts';
import type { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';

/** An event after which flow control looks again whether a request may go on. */
export type FlowEvent = 'end' | 'first-token' | 'sample' | 'endpoints' | 'configuration';

/** How a request left flow control. */
export type FlowEnd =
  | {
      readonly kind: 'let-go';
      /** What had happened since the look before; nothing where only time went by. */
      readonly after: readonly FlowEvent[];
      /** What let it go; undefined where flow control was switched off. */
      readonly place: FlowPlace | undefined;
    }
  /** It may have been let go and then evicted, or have been refused at once. */
  | { readonly kind: 'refused'; readonly error: RoutingError }
  | { readonly kind: 'client-gone' };

/** What flow control did with a request that it did not let go at once. */
export interface FlowStay {
  readonly request: InferenceRequest;
  /** When it came, on the picker's clock. */
  readonly since: Millis;
  /** What it found when it came; undefined where it did not wait. */
  readonly place: FlowPlace | undefined;
  /** Undefined while it waits. */
  readonly end: FlowEnd | undefined;
  /** When it ended, or the time now. */
  readonly at: Millis;
}
