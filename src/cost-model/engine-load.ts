import type { InFlightLoad } from '../framework/cycle-facts.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import { ENGINE_COUNT } from '../framework/endpoint-attributes.ts';

/**
 * The load of one engine of an endpoint that has several: its server sends each request to the one
 * that has the fewest, so each has its part of all. Formulas for one engine take this load.
 */
export function loadPerEngine(load: InFlightLoad, endpoint: Endpoint): InFlightLoad {
  const engines = endpoint.attribute(ENGINE_COUNT);
  return engines === 1 ? load : dividedLoad(load, engines);
}

/** This part of a load: that of one of so many engines. */
export function dividedLoad(load: InFlightLoad, engines: number): InFlightLoad {
  return {
    requests: load.requests / engines,
    pendingPrefillTokens: load.pendingPrefillTokens / engines,
    contextTokens: load.contextTokens / engines,
    ...(load.sentPrefillTokens !== undefined && {
      sentPrefillTokens: load.sentPrefillTokens / engines,
    }),
    begunRequests: (load.begunRequests ?? 0) / engines,
    keptShare: load.keptShare,
  };
}
