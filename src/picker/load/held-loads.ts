import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { InFlightLoad, InFlightView } from '../../framework/keys.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { HeldSum } from '../../framework/routing.ts';
import { HeldPrompts } from './held-prompts.ts';

/** What one request that waits will bring to the endpoint that computes its prompt. */
export interface HeldLoad {
  readonly endpoint: Endpoint;
  readonly prefillTokens: number;
  readonly contextTokens: number;
  readonly prompt: PromptBlocks;
}

interface Sums {
  readonly id: EndpointId;
  requests: number;
  prefillTokens: number;
  contextTokens: number;
  readonly prompts: HeldPrompts;
}

/**
 * The load in flight, with what waits at the picker for each endpoint: a request that is decided
 * now has to wait for those, too. Nothing of it is reserved: what waits may still go elsewhere.
 */
export class HeldLoads implements InFlightView {
  readonly #inFlight: InFlightView;
  /** By slot. */
  readonly #sums = new Map<number, Sums>();
  #assumed: ReadonlyMap<EndpointId, HeldSum> | undefined;

  constructor(inFlight: InFlightView) {
    this.#inFlight = inFlight;
  }

  load(endpoint: Endpoint): InFlightLoad {
    const load = this.#inFlight.load(endpoint);
    if (this.#assumed !== undefined) return plus(load, this.#assumed.get(endpoint.id));
    const sums = this.#sums.size === 0 ? undefined : this.#sums.get(endpoint.slot);
    return sums === undefined ? load : plus(load, summary(sums));
  }

  /** As `InFlightView`; undefined while nothing waits. */
  sharedWith({ prompt }: InferenceRequest): ((endpoint: Endpoint) => number) | undefined {
    const assumed = this.#assumed;
    if (assumed !== undefined) return ({ id }) => assumed.get(id)?.[4] ?? 0;
    if (this.#sums.size === 0) return undefined;
    return ({ slot }) => this.#sums.get(slot)?.prompts.sharedTokens(prompt) ?? 0;
  }

  add({ endpoint: { id, slot }, prefillTokens, contextTokens, prompt }: HeldLoad): void {
    const sums = this.#sums.get(slot) ?? emptySums(id);
    sums.requests += 1;
    sums.prefillTokens += prefillTokens;
    sums.contextTokens += contextTokens;
    sums.prompts.add(prompt);
    this.#sums.set(slot, sums);
  }

  remove({ endpoint: { id, slot }, prefillTokens, contextTokens, prompt }: HeldLoad): void {
    const sums = this.#sums.get(slot);
    // The endpoint may have gone, and another may have its slot.
    if (sums?.id !== id) return;
    sums.requests -= 1;
    sums.prefillTokens -= prefillTokens;
    sums.contextTokens -= contextTokens;
    sums.prompts.remove(prompt);
    if (sums.requests <= 0) this.#sums.delete(slot);
  }

  forget({ slot }: Endpoint): void {
    this.#sums.delete(slot);
  }

  /** With what the request's prompt shares with those that wait. Undefined where nothing waits. */
  snapshot(request?: InferenceRequest): readonly HeldSum[] | undefined {
    if (this.#sums.size === 0) return undefined;
    return [...this.#sums.values()].map((sums): HeldSum => {
      const shared = request === undefined ? 0 : sums.prompts.sharedTokens(request.prompt);
      return shared === 0 ? summary(sums) : [...summary(sums), shared];
    });
  }

  /** Takes what a capture says in place of what waits here; undefined for what waits here. */
  assume(held: readonly HeldSum[] | undefined): void {
    this.#assumed = held && new Map(held.map((sum) => [sum[0], sum]));
  }
}

function emptySums(id: EndpointId): Sums {
  return { id, requests: 0, prefillTokens: 0, contextTokens: 0, prompts: new HeldPrompts() };
}

type Summary = readonly [EndpointId, number, number, number];

function summary({ id, requests, prefillTokens, contextTokens }: Sums): Summary {
  return [id, requests, prefillTokens, contextTokens];
}

function plus(load: InFlightLoad, held: HeldSum | undefined): InFlightLoad {
  if (held === undefined) return load;
  const [, requests, prefillTokens, contextTokens] = held;
  return {
    requests: load.requests + requests,
    pendingPrefillTokens: load.pendingPrefillTokens + prefillTokens,
    contextTokens: load.contextTokens + contextTokens,
  };
}
