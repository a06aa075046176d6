import type { Routed } from '../../framework/observer.ts';
import type { PromptBlocks } from '../../framework/request.ts';
import { RequestMap } from '../../framework/request-map.ts';
import type { EndpointBlocks } from '../../picker/prefix-index/endpoint-blocks.ts';

/** A prompt whose blocks are pinned at one endpoint. */
interface Pinned {
  readonly held: EndpointBlocks;
  readonly prompt: PromptBlocks;
  readonly blocks: number;
}

/**
 * The prompts of requests in flight, whose blocks stay in the index of their endpoint: an engine
 * forgets no block that a request uses, and when the request ends, they are as if newly used.
 */
export class PromptsInFlight {
  #pinned = new RequestMap<Pinned>();

  /** Takes the place of what was pinned for this request before. */
  pin(routed: Routed, held: EndpointBlocks, prompt: PromptBlocks): void {
    this.unpin(routed);
    this.#pinned.set(routed, { held, prompt, blocks: held.pin(prompt) });
  }

  /** Does nothing for a request of which nothing is pinned. */
  unpin(routed: Routed): void {
    const pinned = this.#pinned.delete(routed);
    if (pinned === undefined) return;
    pinned.held.unpin(pinned.prompt, pinned.blocks);
  }

  clear(): void {
    this.#pinned = new RequestMap();
  }
}
