import type { Endpoint } from '../../framework/endpoint.ts';
import type { EndpointHealth } from './endpoint-health.ts';

const NO_SLOTS: ReadonlySet<number> = new Set();

/**
 * The endpoints that get no requests now: ejected ones, and suspects, which are left out only while
 * others can take the requests. Where all candidates are left out, none is.
 */
export class LeftOutEndpoints {
  /** By slot. */
  readonly #ejected = new Map<number, EndpointHealth>();
  /** Slots of endpoints that get no new requests while others can take them. */
  #suspects: ReadonlySet<number> = NO_SLOTS;

  /** The number of ejected endpoints. */
  get ejected(): number {
    return this.#ejected.size;
  }

  /** Undefined for an endpoint that is not ejected. */
  healthAt(slot: number): EndpointHealth | undefined {
    return this.#ejected.get(slot);
  }

  eject(health: EndpointHealth): void {
    this.#ejected.set(health.endpoint.slot, health);
  }

  /** The endpoint is back, or has gone. */
  delete(slot: number): void {
    this.#ejected.delete(slot);
  }

  suspect(endpoints: readonly Endpoint[]): void {
    this.#suspects = endpoints.length === 0 ? NO_SLOTS : new Set(endpoints.map(({ slot }) => slot));
  }

  clear(): void {
    this.#ejected.clear();
    this.#suspects = NO_SLOTS;
  }

  /** The candidates without ejected and suspect endpoints; more where nothing else is left. */
  remaining(candidates: readonly Endpoint[]): readonly Endpoint[] {
    const unejected = this.#unejected(candidates);
    if (this.#suspects.size === 0) return unejected;
    const left = unejected.filter(({ slot }) => !this.#suspects.has(slot));
    return left.length === 0 ? unejected : left;
  }

  /** More of `all` where the filters left none of `tried`; undefined where there is no more. */
  widen(tried: readonly Endpoint[], all: readonly Endpoint[]): readonly Endpoint[] | undefined {
    const steps = [this.remaining(all), this.#unejected(all), all];
    return steps.find(({ length }) => length > tried.length);
  }

  #unejected(candidates: readonly Endpoint[]): readonly Endpoint[] {
    if (this.#ejected.size === 0) return candidates;
    const left = candidates.filter(({ slot }) => !this.#ejected.has(slot));
    return left.length === 0 ? candidates : left;
  }
}
