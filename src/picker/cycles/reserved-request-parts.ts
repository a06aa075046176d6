import type { ResponseHeaderPlugin, ResponseReporter, Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Decision } from '../../framework/scheduling.ts';
import type { Ejector } from '../ejection/ejector.ts';
import type { EventClock } from '../events/event-clock.ts';
import type { RequestObservers } from '../events/request-observers.ts';
import type { PluginFaults } from '../faults/plugin-faults.ts';
import type { Reservation } from '../load/endpoint-reservation.ts';
import type { OpenReservations } from '../load/open-reservations.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import type { CachedCounts } from './cached-counts.ts';

/** The decision of a routed request, and the parts that it reports to. */
export interface ReservedRequestParts {
  readonly routed: Routed;
  readonly decision: Decision;
  readonly reservation: Reservation;
  /** When a response whose end is not seen is taken to end; undefined where it is seen. */
  readonly endsAt: Millis | undefined;
  readonly pool: EndpointPool;
  readonly clock: EventClock;
  readonly faults: PluginFaults;
  /** Undefined where reservations are kept until they are released, however old they are. */
  readonly open: OpenReservations | undefined;
  readonly ejector: Ejector;
  readonly cachedCounts: CachedCounts;
  readonly observers: RequestObservers;
  readonly responseHeaderPlugins: readonly ResponseHeaderPlugin[];
  readonly reporters: readonly ResponseReporter[];
}
