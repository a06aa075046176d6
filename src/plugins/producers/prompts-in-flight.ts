import type { Routed } from '../../framework/observer.ts';
import type { PromptBlocks } from '../../framework/request.ts';
import { RequestMap } from '../../framework/request-map.ts';
import type { EndpointBlocks } from '../../picker/prefix-index/endpoint-blocks.ts';

/** A text whose blocks are pinned at one endpoint, and the next text of the same request. */
interface Pinned {
  readonly held: EndpointBlocks;
  readonly text: PromptBlocks;
  readonly blocks: number;
  readonly next: Pinned | undefined;
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
    let next: Pinned | undefined;
    for (const text of prompt.others ?? []) next = { held, text, blocks: held.pin(text), next };
    this.#pinned.set(routed, { held, text: prompt, blocks: held.pin(prompt), next });
  }

  /** Does nothing where no block of the request is pinned. */
  unpin(routed: Routed): void {
    let pinned = this.#pinned.delete(routed);
    for (; pinned !== undefined; pinned = pinned.next) {
      pinned.held.unpin(pinned.text, pinned.blocks);
    }
  }

  clear(): void {
    this.#pinned = new RequestMap();
  }
}
