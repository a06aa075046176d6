import type { Endpoint } from '../../framework/endpoint.ts';
import type { EndpointHealth } from './endpoint-health.ts';

const NO_SLOTS: ReadonlySet<number> = new Set();

/**
 * The endpoints that get no requests now: ejected ones, and suspects, which are left out only while
 * others can take the requests. Where all candidates fail, those get requests that have answered a
 * scrape since they failed, and all where there are none: one that works again is found at once.
 */
export class LeftOutEndpoints {
  /** By slot. */
  readonly #ejected = new Map<number, EndpointHealth>();
  /** Slots of endpoints that get no new requests while others can take them. */
  #suspects: ReadonlySet<number> = NO_SLOTS;
  /** An endpoint that fails and is not ejected, because it is the last one of the pool. */
  #spared: EndpointHealth | undefined;

  /** The number of ejected endpoints. */
  get ejected(): number {
    return this.#ejected.size;
  }

  /** Undefined for an endpoint that is not ejected. */
  healthAt(slot: number): EndpointHealth | undefined {
    return this.#ejected.get(slot);
  }

  eject(health: EndpointHealth): void {
    this.works(health);
    this.#ejected.set(health.endpoint.slot, health);
  }

  /** Notes that the last endpoint of the pool fails. */
  spare(health: EndpointHealth): void {
    this.#spared = health;
  }

  /** Notes that the endpoint works, which matters if it is the one that was spared. */
  works(health: EndpointHealth): void {
    if (this.#spared === health) this.#spared = undefined;
  }

  /** The endpoint is back, or has gone. */
  delete(slot: number): void {
    this.#ejected.delete(slot);
    if (this.#spared?.endpoint.slot === slot) this.#spared = undefined;
  }

  suspect(endpoints: readonly Endpoint[]): void {
    this.#suspects = endpoints.length === 0 ? NO_SLOTS : new Set(endpoints.map(({ slot }) => slot));
  }

  clear(): void {
    this.#ejected.clear();
    this.#spared = undefined;
    this.#suspects = NO_SLOTS;
  }

  /** The candidates without ejected and suspect endpoints; more where nothing else is left. */
  remaining(candidates: readonly Endpoint[]): readonly Endpoint[] {
    const working = this.#working(candidates);
    if (this.#suspects.size === 0) return working;
    const left = working.filter(({ slot }) => !this.#suspects.has(slot));
    return left.length === 0 ? working : left;
  }

  /** More of `all` where the filters left none of `tried`; undefined where there is no more. */
  widen(tried: readonly Endpoint[], all: readonly Endpoint[]): readonly Endpoint[] | undefined {
    const steps = [this.remaining(all), this.#working(all), this.#answering(all), all];
    return steps.find(({ length }) => length > tried.length);
  }

  /** The candidates that are not ejected; where all fail, the ones that may work again, or all. */
  #working(candidates: readonly Endpoint[]): readonly Endpoint[] {
    if (this.#ejected.size === 0) return candidates;
    const left = candidates.filter(({ slot }) => !this.#ejected.has(slot));
    // Where others are left, requests try the spared one, too: it is then ejected if it still
    // fails.
    if (left.some(({ slot }) => slot !== this.#spared?.endpoint.slot)) return left;
    const answering = this.#answering(candidates);
    if (answering.length > 0) return answering;
    return left.length > 0 ? left : candidates;
  }

  /** The candidates that do not fail, or have answered a scrape since they failed. */
  #answering(candidates: readonly Endpoint[]): readonly Endpoint[] {
    return candidates.filter(({ slot, metrics }) => {
      const failing = this.#spared?.endpoint.slot === slot ? this.#spared : this.#ejected.get(slot);
      return failing === undefined || metrics.sampledAt > failing.failedAt;
    });
  }
}
