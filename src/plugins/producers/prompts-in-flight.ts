import type { Routed } from '../../framework/observer.ts';
import { type PromptBlocks, textsOf } from '../../framework/request.ts';
import { RequestMap } from '../../framework/request-map.ts';
import type { EndpointBlocks } from '../../picker/prefix-index/endpoint-blocks.ts';

/** A text whose blocks are pinned at one endpoint. */
interface Pinned {
  readonly held: EndpointBlocks;
  readonly text: PromptBlocks;
  readonly blocks: number;
}

/**
 * The prompts of requests in flight, whose blocks stay in the index of their endpoint: an engine
 * forgets no block that a request uses, and when the request ends, they are as if newly used.
 */
export class PromptsInFlight {
  #pinned = new RequestMap<readonly Pinned[]>();

  /** Takes the place of what was pinned for this request before. */
  pin(routed: Routed, held: EndpointBlocks, prompt: PromptBlocks): void {
    this.unpin(routed);
    const texts = textsOf(prompt).map((text) => ({ held, text, blocks: held.pin(text) }));
    this.#pinned.set(routed, texts);
  }

  /** Does nothing for a request of which nothing is pinned. */
  unpin(routed: Routed): void {
    for (const { held, text, blocks } of this.#pinned.delete(routed) ?? []) {
      held.unpin(text, blocks);
    }
  }

  clear(): void {
    this.#pinned = new RequestMap();
  }
}
