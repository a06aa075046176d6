import type { Endpoint } from '../../../framework/endpoint.ts';
import type { EndpointWriter } from '../../../framework/plugin.ts';
import type { DroppedBatch } from '../messages/check-structure.ts';
import type { UnusableReason } from './event-health.ts';

/** What goes wrong with the KV events of a pool. */
export interface EventTroubles {
  /** `first`: the endpoint's first one with this reason since it was added. */
  onDropped(endpoint: Endpoint, error: DroppedBatch, first: boolean): void;
  /** The endpoint's events cannot be used: for this reason the first time since it was added. */
  onUnusable(endpoint: Endpoint, reason: UnusableReason): void;
  /** Events name a pod that is no endpoint: the first time for this name. */
  onUnknownPod(pod: string): void;
  /** A socket cannot be opened, or what it received could not be handled. It tries again. */
  onSocketFailed(address: string, reason: string): void;
  /** A tokenizer gives no tokens of a prompt, so that no events are looked up for it. */
  onNoTokens(url: URL, reason: string): void;
}

const IGNORED: EventTroubles = {
  onDropped: () => undefined,
  onUnusable: () => undefined,
  onUnknownPod: () => undefined,
  onSocketFailed: () => undefined,
  onNoTokens: () => undefined,
};

// By pool: a data source is started with only its pool and the runtime.
const byPool = new WeakMap<EndpointWriter, EventTroubles>();

/** Replaces the observer of the pool. */
export function observeEventTroubles(pool: EndpointWriter, troubles: EventTroubles): void {
  byPool.set(pool, troubles);
}

export function eventTroublesOf(pool: EndpointWriter): EventTroubles {
  return byPool.get(pool) ?? IGNORED;
}
