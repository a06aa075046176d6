import type { Millis } from './runtime.ts';

declare const brand: unique symbol;

/** Stable name of one model server (one port of a pod), unique in its pool. */
export type EndpointId = string & { readonly [brand]: 'EndpointId' };

/** What every model server reports. Everything else is an attribute. */
export interface EndpointMetrics {
  readonly waitingQueueSize: number;
  readonly runningRequests: number;
  /** Fraction of KV-cache blocks in use, 0 to 1. */
  readonly kvCacheUsage: number;
  /**
   * When the scrape was sent (`Clock.now()`), so that the age includes the network time. Negative
   * infinity until the first scrape: such an endpoint is unknown, not idle.
   */
  readonly sampledAt: number;
}

/**
 * What an answer says about the load of the server that gave it; undefined where it says nothing.
 */
export type LoadReport = {
  readonly [metric in Exclude<keyof EndpointMetrics, 'sampledAt'>]: number | undefined;
};

/** One model server as a scheduling cycle sees it. It never changes; the pool replaces it. */
export interface Endpoint {
  readonly id: EndpointId;
  /** `host:port`, an IPv6 host in brackets: what goes into the destination header. */
  readonly address: string;
  /** The listed name of which `address` is an address: the server's certificate has this name. */
  readonly hostName?: string | undefined;
  /** The IP address of the machine that it runs on, where it is known. */
  readonly nodeAddress?: string | undefined;
  /**
   * A small integer that no other endpoint of the pool has. It is reused after the endpoint is
   * removed. State per endpoint can be kept in arrays indexed by it.
   */
  readonly slot: number;
  readonly labels: ReadonlyMap<string, string>;
  readonly metrics: EndpointMetrics;
  /** The value last written for `key`, or the key's initial value. */
  attribute<T>(key: AttributeKey<T>): T;
}

/** A named, typed slot on every endpoint: one data source writes it, any scorer reads it. */
export interface AttributeKey<T> {
  readonly name: string;
  readonly initial: T;
}

/** A key whose value is `initial` at each endpoint until a data source writes another. */
export function attributeKey<T>(name: string, initial: T): AttributeKey<T> {
  return { name, initial };
}

/**
 * An older sample says nothing about the present: 40 missed scrapes at the default interval. The
 * reference counts pods as ready by the same bound (`--metrics-staleness-threshold` 2 s).
 */
export const METRICS_STALE_MS: Millis = 2000;

/**
 * Where endpoints are scraped seldom, all samples are old. A sample may be this many times as old
 * as usual.
 */
const TIMES_USUAL = 2;

/** The age from which a sample is old where that of the usual endpoint of the pool is as given. */
export function oldAgeMs(usualAgeMs: Millis): Millis {
  return METRICS_STALE_MS + TIMES_USUAL * Math.max(0, usualAgeMs);
}

/** Whether the last sample is recent. False for an endpoint that was never scraped. */
export function isFresh(
  endpoint: Endpoint,
  now: Millis,
  staleMs: Millis = METRICS_STALE_MS,
): boolean {
  return now - endpoint.metrics.sampledAt <= staleMs;
}
