import {
  type AttributeKey,
  type Endpoint,
  type EndpointId,
  type EndpointMetrics,
  isFresh,
  type LoadReport,
} from '../../framework/endpoint.ts';
import { invariant } from '../../framework/error.ts';
import type { EndpointObserver } from '../../framework/observer.ts';
import type { EndpointWriter } from '../../framework/plugin.ts';
import type { Millis } from '../../framework/runtime.ts';
import { PluginFaults } from '../faults/plugin-faults.ts';

/** Where discovery puts what it has found. */
export type EndpointSink = Pick<EndpointPool, 'upsert' | 'remove'>;

export interface EndpointSpec {
  readonly id: EndpointId;
  /** `host:port`, an IPv6 host in brackets. */
  readonly address: string;
  readonly hostName?: string | undefined;
  readonly nodeAddress?: string | undefined;
  readonly labels: ReadonlyMap<string, string>;
}

const NEVER_SAMPLED: EndpointMetrics = {
  waitingQueueSize: 0,
  runningRequests: 0,
  kvCacheUsage: 0,
  sampledAt: Number.NEGATIVE_INFINITY,
};

/**
 * From this age of a sample on detectors call it stale; pages come every 50 to 160 ms by default.
 */
const REPORTS_AFTER_MS = 200;

interface PoolSource {
  /** Why it adds no endpoint, where it knows. Read only while the pool is empty. */
  readonly whyEmpty: string | undefined;
}

type Attributes = ReadonlyMap<AttributeKey<unknown>, unknown>;
const NO_ATTRIBUTES: Attributes = new Map();

/** The endpoints of the pool. Sources write to it; cycles read a snapshot that never changes. */
export class EndpointPool implements EndpointWriter {
  readonly #endpoints = new Map<EndpointId, PooledEndpoint>();
  #observers: readonly EndpointObserver[] = [];
  readonly #faults: PluginFaults;
  readonly #freeSlots: number[] = [];
  #slots = 0;
  /** While an endpoint is added: the observers that know it already. One of them may change it. */
  #adding: { readonly id: EndpointId; known: number } | undefined;
  #snapshot: readonly Endpoint[] | undefined;
  #afterChange: (() => void) | undefined;
  #source: PoolSource | undefined;

  /** An observer that throws is reported to `faults`. */
  constructor(faults: PluginFaults = new PluginFaults()) {
    this.#faults = faults;
  }

  /** Names the source of the endpoints, so that the pool can say why it has none. */
  filledBy(source: PoolSource): void {
    this.#source = source;
  }

  /**
   * Why there is no endpoint, in words; undefined while there is one, or where the reason is not
   * known.
   */
  get whyEmpty(): string | undefined {
    return this.#endpoints.size === 0 ? this.#source?.whyEmpty : undefined;
  }

  /** Reports every present endpoint to the observer as added, then every change. */
  observeEndpoints(observer: EndpointObserver): void {
    this.#observers = [...this.#observers, observer];
    for (const endpoint of this.#endpoints.values()) this.#added(observer, endpoint);
  }

  /** Calls `look` after each change, when all observers know of it. To be called once. */
  observeChanges(look: () => void): void {
    invariant(
      this.#afterChange === undefined,
      'what waits is looked at by one part after each change',
    );
    this.#afterChange = look;
  }

  /** Reports nothing more to the observer. */
  forgetObserver(observer: EndpointObserver): void {
    this.#observers = this.#observers.filter((each) => each !== observer);
  }

  /** Adds an endpoint or changes its labels. A new address is a new server: all else is dropped. */
  upsert(spec: EndpointSpec): void {
    const known = this.#endpoints.get(spec.id);
    if (known !== undefined && known.address !== spec.address) this.remove(spec.id);
    const kept = this.#endpoints.get(spec.id);
    if (kept === undefined) {
      const slot = this.#freeSlots.pop() ?? this.#slots++;
      const added = new PooledEndpoint({ ...spec, slot }, NEVER_SAMPLED, NO_ATTRIBUTES);
      this.#endpoints.set(spec.id, added);
      this.#snapshot = undefined;
      this.#announce(added);
      this.#afterChange?.();
    } else if (!sameLabels(kept.labels, spec.labels)) {
      this.#replace(
        kept,
        new PooledEndpoint({ ...spec, slot: kept.slot }, kept.metrics, kept.attributes),
      );
    }
  }

  remove(id: EndpointId): void {
    const endpoint = this.#endpoints.get(id);
    if (endpoint === undefined) return;
    this.#endpoints.delete(id);
    this.#snapshot = undefined;
    for (const observer of this.#observers) {
      try {
        observer.onEndpointRemoved?.(endpoint);
      } catch (error) {
        this.#faults.report(observer, 'onEndpointRemoved', error);
      }
    }
    // Only after the observers have cleared what they keep by slot may another endpoint get the
    // slot.
    this.#freeSlots.push(endpoint.slot);
    this.#afterChange?.();
  }

  observe(id: EndpointId, metrics: EndpointMetrics): void {
    const known = this.#endpoints.get(id);
    if (known === undefined || metrics.sampledAt < known.metrics.sampledAt) return;
    this.#replace(known, new PooledEndpoint(known, metrics, known.attributes));
  }

  /**
   * What a server reports of its load with an answer. It counts where metrics pages come seldom or
   * not at all: a page that comes often has all values. Those that the report lacks stay.
   */
  report(id: EndpointId, report: LoadReport, now: Millis): void {
    const known = this.#endpoints.get(id);
    if (known === undefined || isFresh(known, now, REPORTS_AFTER_MS)) return;
    const { waitingQueueSize, runningRequests, kvCacheUsage } = known.metrics;
    this.observe(id, {
      waitingQueueSize: report.waitingQueueSize ?? waitingQueueSize,
      runningRequests: report.runningRequests ?? runningRequests,
      kvCacheUsage: report.kvCacheUsage ?? kvCacheUsage,
      sampledAt: now,
    });
  }

  set<T>(id: EndpointId, key: AttributeKey<T>, value: T): void {
    const known = this.#endpoints.get(id);
    if (known === undefined) return;
    const attributes = new Map(known.attributes).set(key, value);
    this.#replace(known, new PooledEndpoint(known, known.metrics, attributes));
  }

  get(id: EndpointId): Endpoint | undefined {
    return this.#endpoints.get(id);
  }

  snapshot(): readonly Endpoint[] {
    this.#snapshot ??= [...this.#endpoints.values()];
    return this.#snapshot;
  }

  #announce({ id }: PooledEndpoint): void {
    this.#adding = { id, known: 0 };
    for (const observer of this.#observers) {
      this.#adding.known += 1;
      const endpoint = this.#endpoints.get(id);
      if (endpoint !== undefined) this.#added(observer, endpoint);
    }
    this.#adding = undefined;
  }

  #added(observer: EndpointObserver, endpoint: Endpoint): void {
    try {
      observer.onEndpointAdded?.(endpoint);
    } catch (error) {
      this.#faults.report(observer, 'onEndpointAdded', error);
    }
  }

  #replace(previous: PooledEndpoint, next: PooledEndpoint): void {
    this.#endpoints.set(next.id, next);
    this.#snapshot = undefined;
    const { id, known } = this.#adding ?? {};
    const observers = id === next.id ? this.#observers.slice(0, known) : this.#observers;
    for (const observer of observers) {
      try {
        observer.onEndpointChanged?.(next, previous);
      } catch (error) {
        this.#faults.report(observer, 'onEndpointChanged', error);
      }
    }
    this.#afterChange?.();
  }
}

/** One object shape for all endpoints, so that scorers read its fields fast. */
class PooledEndpoint implements Endpoint {
  readonly id: EndpointId;
  readonly address: string;
  readonly hostName: string | undefined;
  readonly nodeAddress: string | undefined;
  readonly slot: number;
  readonly labels: ReadonlyMap<string, string>;
  readonly metrics: EndpointMetrics;
  readonly attributes: Attributes;

  constructor(
    spec: EndpointSpec & { readonly slot: number },
    metrics: EndpointMetrics,
    attributes: Attributes,
  ) {
    this.id = spec.id;
    this.address = spec.address;
    this.hostName = spec.hostName;
    this.nodeAddress = spec.nodeAddress;
    this.slot = spec.slot;
    this.labels = spec.labels;
    this.metrics = metrics;
    this.attributes = attributes;
  }

  attribute<T>(key: AttributeKey<T>): T {
    const value = this.attributes.get(key);
    return value === undefined ? key.initial : (value as T);
  }
}

function sameLabels(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  if (a.size !== b.size) return false;
  for (const [name, value] of a) if (b.get(name) !== value) return false;
  return true;
}
