import { promptMs } from '../../cost-model/step-time.ts';
import { ORDERS } from '../../flow/order.ts';
import type { StepTime } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { type RequestObserver, type Routed, tokensToCompute } from '../../framework/observer.ts';
import { RequestMap } from '../../framework/request-map.ts';

/** How many in-time requests an endpoint has; a new one where another endpoint has its slot. */
interface InTime {
  requests: number;
}

/**
 * Counts at each endpoint the requests in flight that were not late when they were placed. A slow
 * step delays their answers. Where there are none, all requests there have waited too long already.
 */
export class InTimeRequests implements RequestObserver {
  /** By slot of the endpoint that computes the prompt. */
  readonly #inTime: (InTime | undefined)[] = [];
  readonly #ofRequest = new RequestMap<InTime>();

  at({ slot }: Endpoint): number {
    return this.#inTime[slot]?.requests ?? 0;
  }

  /** The request has been sent to an engine that takes such times for its steps. */
  sent(routed: Routed, engine: StepTime): void {
    const { heldMs = 0, request, prefill, endpoint } = routed;
    const size = { promptTokens: request.promptTokens, uncachedTokens: tokensToCompute(routed) };
    if (heldMs > ORDERS['response-ratio'].lateAfterMs(promptMs(size, engine))) return;
    const inTime = (this.#inTime[(prefill ?? endpoint).slot] ??= { requests: 0 });
    inTime.requests += 1;
    this.#ofRequest.set(routed, inTime);
  }

  onDone(routed: Routed): void {
    const inTime = this.#ofRequest.delete(routed);
    if (inTime !== undefined) inTime.requests -= 1;
  }

  forget(slot: number): void {
    this.#inTime[slot] = undefined;
  }
}
