import type { Endpoint } from '../framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../framework/endpoint-attributes.ts';
import type { Observer, Outcome, Routed, Usage } from '../framework/observer.ts';
import type { Millis } from '../framework/runtime.ts';
import type { EndpointMessage, EventMessage, PickerMessage, Welcome } from './messages.ts';

/** Most events kept between two messages; later ones are dropped. */
const EVENTS_MAX = 10_000;

const OUTCOMES = { completed: 'COMPLETED', aborted: 'ABORTED', failed: 'FAILED' } as const;

/** Collects what changed and happened since the last message to a scheduler. */
export class PendingUpdates implements Observer {
  readonly #endpoints = new Map<number, Endpoint>();
  readonly #changed = new Set<number>();
  #removed: number[] = [];
  #events: EventMessage[] = [];
  #wants: Pick<Welcome, 'wantsEndpoints' | 'wantsEvents'> | undefined;

  /** Restarts with all endpoints, for a new stream; undefined collects nothing more. */
  restart(wants: Pick<Welcome, 'wantsEndpoints' | 'wantsEvents'> | undefined): void {
    this.#wants = wants;
    this.#removed = [];
    this.#events = [];
    this.#changed.clear();
    if (wants === undefined) return;
    for (const slot of this.#endpoints.keys()) this.#changed.add(slot);
  }

  get pending(): boolean {
    return this.#changed.size > 0 || this.#removed.length > 0 || this.#events.length > 0;
  }

  /** Returns what has been collected and clears it. */
  take(now: Millis): Pick<PickerMessage, 'removed' | 'endpoints' | 'events'> {
    const endpoints: EndpointMessage[] = [];
    for (const slot of this.#changed) {
      const endpoint = this.#endpoints.get(slot);
      if (endpoint !== undefined) endpoints.push(toMessage(endpoint, now));
    }
    const [removed, events] = [this.#removed, this.#events];
    this.#changed.clear();
    this.#removed = [];
    this.#events = [];
    return { removed, endpoints, events };
  }

  onEndpointAdded(endpoint: Endpoint): void {
    this.#endpoints.set(endpoint.slot, endpoint);
    if (this.#wants !== undefined) this.#changed.add(endpoint.slot);
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    this.#endpoints.set(endpoint.slot, endpoint);
    if (this.#wants === undefined) return;
    const sampleOnly = endpoint.labels === previous.labels && endpoint.address === previous.address;
    if (this.#wants.wantsEndpoints || !sampleOnly) this.#changed.add(endpoint.slot);
  }

  onEndpointRemoved({ slot }: Endpoint): void {
    this.#endpoints.delete(slot);
    this.#changed.delete(slot);
    if (this.#wants !== undefined) this.#removed.push(slot);
  }

  onRouted({ request, endpoint, prefill }: Routed): void {
    const { id, promptTokens } = request;
    const { slot } = endpoint;
    this.#addEvent({
      id,
      routed: { slot, promptTokens, ...(prefill && { prefillSlot: prefill.slot }) },
    });
  }

  onFirstToken(routed: Routed, at: Millis): void {
    this.#addEvent({ id: routed.request.id, firstToken: { afterMs: at - routed.at } });
  }

  onDone(routed: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    const { promptTokens = 0, completionTokens = 0, cachedTokens = 0 } = usage ?? {};
    const afterMs = at - routed.at;
    const tokens = { promptTokens, completionTokens, cachedTokens };
    this.#addEvent({
      id: routed.request.id,
      done: { outcome: OUTCOMES[outcome], afterMs, ...tokens },
    });
  }

  #addEvent(event: EventMessage): void {
    if (this.#wants?.wantsEvents !== true) return;
    if (this.#events.length < EVENTS_MAX) this.#events.push(event);
  }
}

function toMessage(endpoint: Endpoint, now: Millis): EndpointMessage {
  const { slot, id, address, labels, metrics } = endpoint;
  const sampled = metrics.sampledAt > Number.NEGATIVE_INFINITY;
  const cache = endpoint.attribute(CACHE_CONFIG);
  const lora = endpoint.attribute(LORA);
  return {
    slot,
    id,
    address,
    labels: Object.fromEntries(labels),
    sampled,
    waitingRequests: metrics.waitingQueueSize,
    runningRequests: metrics.runningRequests,
    kvCacheUsage: metrics.kvCacheUsage,
    sampleAgeMs: sampled ? now - metrics.sampledAt : 0,
    cacheBlocks: cache?.blocks ?? 0,
    cacheBlockTokens: cache?.blockTokens ?? 0,
    loraMax: lora?.max ?? 0,
    loraRunning: lora === undefined ? [] : [...lora.running],
    loraWaiting: lora === undefined ? [] : [...lora.waiting],
  };
}
