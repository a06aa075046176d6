import type { Routed } from './observer.ts';
import { InFlightMap } from './values/in-flight-map.ts';

/** Values of requests in flight. Other replicas may give requests the same numbers. */
export class RequestMap<V> extends InFlightMap<Routed, V> {
  constructor() {
    super(({ number }) => number);
  }
}
