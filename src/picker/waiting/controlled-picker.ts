import type { InFlightLoad, InFlightView } from '../../framework/keys.ts';
import type { Router } from '../../framework/routing.ts';
import type { Ledger } from '../load/ledger.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';

/** What flow control stands in front of. */
export interface ControlledPicker extends Router {
  readonly pool: EndpointPool;
  readonly ledger: Ledger;
}

/** The load in flight with requests that the ledger does not have yet, spread over the pool. */
export function withUnrouted(
  { ledger, pool }: ControlledPicker,
  unrouted: ReadonlySet<string>,
): InFlightView {
  return {
    load(endpoint): InFlightLoad {
      const load = ledger.load(endpoint);
      if (unrouted.size === 0) return load;
      const more = unrouted.size / Math.max(1, pool.snapshot().length);
      return { ...load, requests: load.requests + more };
    },
  };
}
