import type { InFlightView } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { FirstBand } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import { grouped } from '../../framework/values/grouped.ts';
import type { Dropped, QueueDiscipline, ReadyGroup, Served, Waiting } from '../discipline.ts';
import type { Band } from './band.ts';
import { Bands } from './bands.ts';
import { Expiry } from './expiry.ts';
import type { Item } from './fairness/flow.ts';
import type { FlowControlParts } from './flow-control-parts.ts';
import { type FlowPlace, placeIn } from './flow-place.ts';
import { Reclamation } from './reclamation.ts';
import { requestTtlMs } from './request-ttl.ts';
import { RunningRequests } from './running-requests.ts';
import { Gate } from './saturation/gate.ts';
import {
  type PoolSaturation,
  poolSaturation,
  type SaturationRules,
} from './saturation/pool-saturation.ts';
import type { Detector } from './saturation/saturation-detectors.ts';

/** What flow control asks of the picker. */
export interface FlowControlDeps extends SaturationRules {
  /** All endpoints of the pool. The array is another one when anything of it has changed. */
  endpoints(): readonly Endpoint[];
  readonly inFlight: InFlightView;
  /**
   * The priority of each objective: each has a band. Another map when anything of it has changed.
   */
  readonly objectives?: (() => ReadonlyMap<string, number>) | undefined;
  /**
   * The flow control that this one replaces. Its requests in flight and the times of the pool are
   * taken over.
   */
  readonly former?: FlowControl | undefined;
}

const NONE: readonly never[] = [];

/**
 * The reference's flow control: bands by priority, fairness in a band, and a gate by saturation.
 */
export class FlowControl implements QueueDiscipline {
  readonly bands: Bands;
  readonly gate: Gate;
  readonly reclamation: Reclamation;
  readonly parts: FlowControlParts;
  readonly detector: Detector;
  readonly #deps: FlowControlDeps;
  readonly #expiry: Expiry;
  readonly #running: RunningRequests;
  readonly #items = new Map<Waiting, readonly [Item, Band]>();
  #bytes = 0;
  #added = 0;
  /** Requests placed so far: each changes the saturation, and the gate is looked at again. */
  #placed = 0;

  constructor(parts: FlowControlParts, { former, ...deps }: FlowControlDeps) {
    this.parts = parts;
    // Without the former one, which would keep all those before it in memory.
    this.#deps = deps;
    this.bands = new Bands(parts);
    this.detector = parts.detector.create(deps.inFlight);
    this.gate = new Gate(poolSaturation(this.detector, deps), parts.usageLimit());
    this.#running = former === undefined ? new RunningRequests() : former.#running;
    this.#expiry = new Expiry(parts.noEndpointTtlMs, former && former.#expiry);
    this.reclamation = new Reclamation(this.#running, parts.detector.lagMs, former?.reclamation);
  }

  get size(): number {
    return this.#items.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The oldest first. */
  get waiting(): Iterable<Waiting> {
    return this.#items.keys();
  }

  /** All bands, the highest priority first, with those that objectives have by now. */
  bandsAt(at: Millis): readonly Band[] {
    return this.bands.keep(this.#deps.objectives?.(), at);
  }

  get firstBand(): FirstBand | undefined {
    const first = this.bands.all.find(({ size }) => size > 0);
    return first && { priority: first.priority, requests: first.size };
  }

  get isHoldingBack(): boolean {
    return this.size > 0 && this.gate.open === 0;
  }

  get endpoints(): readonly Endpoint[] {
    return this.#deps.endpoints();
  }

  /** The saturation of the pool now, as a detector measures it. */
  saturationAt(at: Millis, detector: Detector = this.detector): PoolSaturation {
    const { takersAmong } = this.#deps;
    return poolSaturation(detector, { takersAmong })(this.endpoints, at);
  }

  /** Where a request stands by the last look at the gate; undefined where it does not wait. */
  placeOf(waiting: Waiting): FlowPlace | undefined {
    const known = this.#items.get(waiting);
    if (known === undefined) return undefined;
    const [{ flow }, band] = known;
    const { gate } = this;
    return placeIn(band, flow.size, {
      gate,
      bands: this.bands.all,
      endpoints: this.endpoints.length,
    });
  }

  add(waiting: Waiting, at: Millis): void {
    this.#lookAtPool(at);
    const { request, bytes } = waiting;
    const band = this.bands.of(request.priority, at);
    this.#refuseBeyondLimits(band, bytes);
    const ttlMs = requestTtlMs(request, band.plan.requestTtlMs ?? this.parts.requestTtlMs);
    const flow = band.flowOf(request.fairnessId);
    const item: Item = { waiting, number: this.#added++, ttlMs, flow };
    this.#items.set(waiting, [item, band]);
    this.#bytes += bytes;
    band.add(item);
    this.#expiry.add(item);
  }

  remove(waiting: Waiting): void {
    const taken = this.#take(waiting);
    taken?.band.delete(taken.item);
  }

  replaced(): void {
    for (const waiting of this.waiting) this.remove(waiting);
  }

  *ready(at: Millis): Generator<ReadyGroup> {
    const all = this.bandsAt(at);
    const isOpen = this.#opener(at);
    for (const [rank, band] of all.entries()) {
      if (band.size === 0 || !isOpen(rank)) continue;
      yield { requests: band.inOrder(at, () => isOpen(rank)) };
    }
  }

  expired(at: Millis): readonly Dropped[] {
    this.#lookAtPool(at);
    const dropped: Dropped[] = [];
    for (let item = this.#expiry.due(at); item !== undefined; item = this.#expiry.due(at)) {
      const { waiting } = item;
      dropped.push({ waiting, error: this.#tooLong(waiting, at) });
      this.remove(waiting);
    }
    return dropped;
  }

  placed(waiting: Waiting, at: Millis): void {
    const taken = this.#take(waiting);
    if (taken === undefined) return;
    this.#placed += 1;
    taken.band.placed(taken.item, at);
    this.#running.add(waiting.request);
  }

  ended(request: InferenceRequest, served: Served, at: Millis): void {
    this.#running.delete(request);
    this.reclamation.ended(request, at);
    this.bands.ended(request, served, at);
  }

  placedElsewhere(request: InferenceRequest, at: Millis): void {
    this.bands.known(request.priority)?.placedElsewhere(request, at);
  }

  endedElsewhere(request: InferenceRequest, served: Served, at: Millis): void {
    this.bands.ended(request, served, at);
  }

  evict(at: Millis): readonly InferenceRequest[] {
    if (!this.parts.evicts || this.size === 0 || !this.reclamation.isOpen(at)) return NONE;
    const { victim } = this.#running;
    if (victim === undefined) return NONE;
    const { all, priorities } = this.bands;
    const { gate } = this;
    gate.look(this.#lookAtPool(at), priorities, at);
    const saturation = gate.saturation.effective;
    for (let rank = gate.open; rank < all.length; rank++) {
      const { priority, size } = all[rank] as Band;
      if (priority <= victim.priority) return NONE;
      const ceiling = gate.ceilings[rank] ?? 0;
      // A ceiling of 0 closes a band whatever is freed; one above the saturation is not blocked.
      if (size === 0 || ceiling <= 0 || saturation < ceiling) continue;
      return this.reclamation.reclaim({ priority, saturation, ceiling }, at);
    }
    return NONE;
  }

  /** Asks the gate again after each request that is placed, because that has raised saturation. */
  #opener(at: Millis): (rank: number) => boolean {
    let seen = -1;
    return (rank) => {
      if (seen !== this.#placed) {
        seen = this.#placed;
        this.gate.look(this.#lookAtPool(at), this.bands.priorities, at);
      }
      return this.gate.isOpen(rank);
    };
  }

  #take(waiting: Waiting): { readonly item: Item; readonly band: Band } | undefined {
    const known = this.#items.get(waiting);
    if (known === undefined) return undefined;
    const [item, band] = known;
    this.#items.delete(waiting);
    this.#bytes -= waiting.bytes;
    this.#expiry.delete(item);
    return { item, band };
  }

  /**
   * The endpoints; times to live depend on whether there are any, so that `#expiry` learns of it,
   * too.
   */
  #lookAtPool(at: Millis): readonly Endpoint[] {
    const endpoints = this.#deps.endpoints();
    this.#expiry.see(endpoints.length === 0, at);
    return endpoints;
  }

  #refuseBeyondLimits(band: Band, bytes: number): void {
    const { maxBytes, maxRequests } = this.parts;
    const limits: readonly (readonly [used: number, limit: number, what: string])[] = [
      [this.#bytes + bytes, maxBytes, 'bytes in all bands'],
      [this.size + 1, maxRequests, 'requests in all bands'],
      [band.bytes + bytes, band.plan.maxBytes, `bytes with priority ${band.priority}`],
      [band.size + 1, band.plan.maxRequests, `requests with priority ${band.priority}`],
    ];
    const reached = limits.find(([used, limit]) => used > limit);
    if (reached === undefined) return;
    const [, limit, what] = reached;
    const full = `the queue is full: it holds at most ${grouped(limit)} ${what}`;
    if (!this.#expiry.isEmpty) throw new RoutingError('saturated', full);
    throw new RoutingError('no-endpoints', `the pool has no endpoint, and ${full}`);
  }

  #tooLong({ since }: Waiting, at: Millis): RoutingError {
    const waited = `the request has waited ${grouped(Math.round(at - since))} ms`;
    return this.#expiry.isEmpty
      ? new RoutingError('no-endpoints', `${waited}, and the pool has no endpoint`)
      : new RoutingError('queue-timeout', `${waited} in the queue, as long as it may`);
  }
}
