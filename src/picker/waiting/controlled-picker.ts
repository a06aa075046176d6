import type { Waiting } from '../../flow/discipline.ts';
import type { FairShares, Share } from '../../flow/fair-shares.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { InFlightLoad, InFlightView } from '../../framework/keys.ts';
import type { PrepareOptions, Router } from '../../framework/routing.ts';
import type { ConcurrencyLimit } from '../load/concurrency-limit.ts';
import type { Ledger } from '../load/ledger.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';

/** What flow control stands in front of. */
export interface ControlledPicker extends Router {
  readonly pool: EndpointPool;
  readonly ledger: Ledger;
  readonly limit: ConcurrencyLimit;
  /** What flows have got, and what they have waiting, also here. */
  readonly shares: FairShares;
}

/** A request that waits, with what the picker has to be asked for once it may go on. */
export interface Held {
  readonly waiting: Waiting;
  /** That of its flow. */
  readonly share: Share;
  readonly body: readonly Uint8Array[];
  readonly ready: () => void;
  readonly options: PrepareOptions;
  /** `new` during the call in which it came: nothing is called back then. */
  state: 'new' | 'waiting' | 'placed' | 'gone';
}

/** Whether the capacity of endpoints allows one more request than those that the ledger lacks. */
export function roomBeyond(
  { limit }: ControlledPicker,
  unrouted: { readonly size: number },
): (endpoints: readonly Endpoint[]) => boolean {
  return (endpoints) => limit.roomAt(endpoints) > unrouted.size;
}

/** The load in flight with requests that the ledger does not have yet, spread over the pool. */
export function withUnrouted(
  { ledger, pool }: ControlledPicker,
  unrouted: { readonly size: number },
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
