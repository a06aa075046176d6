import { type PrefixMatch, prefixMatchKey } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import type { Outcome, PrefixSharing, Routed, Usage } from '../../framework/observer.ts';
import type { Producer } from '../../framework/plugin.ts';
import {
  blockCount,
  HASHED_BLOCK_TOKENS,
  type InferenceRequest,
  type PromptBlocks,
  textsOf,
} from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import { RecentDemand } from '../../picker/engine-model/recent-demand.ts';
import { hasRestarted } from '../../picker/pool/has-restarted.ts';
import { EndpointBlocks } from '../../picker/prefix-index/endpoint-blocks.ts';
import { largest, PrefixIndex } from '../../picker/prefix-index/prefix-index.ts';
import { type ApproxPrefixConfig, blocksToMatch, blockTokensOf } from './approx-prefix-config.ts';
import { FoundPrefixes } from './found-prefixes.ts';
import { matchedTexts } from './matched-texts.ts';
import { MemorySizes } from './memory-sizes.ts';
import { PromptsInFlight } from './prompts-in-flight.ts';

/** Bounds what is kept of an endpoint to 57 MB, even if an engine reports nonsense. */
const CAPACITY_BLOCKS_MAX = 1_000_000;
/** We count four bytes as a token; tokenizers differ from that by at most this factor. */
const TOKEN_RATIO_MAX = 4;
/** Weight of the newest request in the token ratio: it settles within some tens of requests. */
const TOKEN_RATIO_WEIGHT = 0.05;
/** An index is resized only for a change above this: the token ratio drifts all the time. */
const RESIZE_SHARE = 0.02;

/**
 * Follows engines: it learns prompts and answers, and each endpoint has an LRU index of the
 * capacity that its engine reports, so that the index forgets as the engine does. Without
 * `keepInFlight` it does not keep what is in flight, and counts the rest of a prompt as a block:
 * `precise-prefix-cache-producer` uses it so for prompts whose tokens it does not know.
 */
export class ApproxPrefixIndex implements Producer, PrefixSharing {
  readonly facts: Producer['facts'];
  readonly #config: ApproxPrefixConfig;
  readonly #index = new PrefixIndex();
  /** By slot, what is held there. */
  readonly #held: (EndpointBlocks | undefined)[] = [];
  readonly #found = new FoundPrefixes();
  /** Where they are decoded; empty without `keepInFlight`. */
  readonly #decoding = new PromptsInFlight();
  /** Where they are computed, if elsewhere. */
  readonly #computing = new PromptsInFlight();
  /** The average ratio of our estimate of a prompt's tokens to the engine's count. */
  #tokenRatio = 1;
  #blockTokens = HASHED_BLOCK_TOKENS;
  /** Blocks that were found again in the older half of what is held. */
  readonly #reused = new RecentDemand();
  readonly #sizes = new MemorySizes();

  constructor(parsed: ApproxPrefixConfig, name: string) {
    this.#config = parsed;
    this.facts = [
      {
        key: prefixMatchKey(name),
        compute: (_endpoints, { request }) => this.match(request),
      },
    ];
  }

  /** The number of blocks in the endpoint's index, for metrics and debugging. */
  size(endpoint: Endpoint): number {
    return this.#held[endpoint.slot]?.size ?? 0;
  }

  /** See `PrefixSharing`. */
  heldBlocks({ slot }: Endpoint, blocksMax: number): Uint32Array {
    return this.#held[slot]?.newest(blocksMax) ?? new Uint32Array(0);
  }

  /** See `PrefixSharing`. */
  addOlderBlocks({ slot }: Endpoint, words: Uint32Array): void {
    this.#held[slot]?.addOlder(words);
  }

  onEndpointAdded(endpoint: Endpoint): void {
    this.#held[endpoint.slot] = new EndpointBlocks(this.#index, this.#capacityBlocks(endpoint));
  }

  onEndpointRemoved(endpoint: Endpoint): void {
    this.#held[endpoint.slot]?.remove();
    this.#held[endpoint.slot] = undefined;
    this.#found.forget(endpoint.slot);
    this.#reused.forget(endpoint.slot);
    this.#sizes.forget(endpoint);
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    if (hasRestarted(endpoint, previous)) {
      this.forget(endpoint);
      this.#found.forget(endpoint.slot);
    }
    if (endpoint.attribute(CACHE_CONFIG) === previous.attribute(CACHE_CONFIG)) return;
    this.#held[endpoint.slot]?.setCapacity(this.#capacityBlocks(endpoint));
    if (this.#keepsNone(endpoint)) this.forget(endpoint);
  }

  onRouted(routed: Routed): void {
    this.#sizes.see(routed);
    this.#sent(routed, routed.request.prompt);
  }

  onBodyRead(routed: Routed, request: InferenceRequest): void {
    this.#sent(routed, request.prompt);
  }

  /** The KV of the prompt has come from where it was computed. */
  onFirstToken(routed: Routed): void {
    this.#computing.unpin(routed);
  }

  /**
   * The endpoint that decodes keeps the blocks of the answer; an endpoint that only computed the
   * prompt never has them.
   */
  onAnswered({ endpoint }: Routed, conversation: PromptBlocks): void {
    this.#learn(endpoint, conversation);
  }

  onDone(routed: Routed, at: Millis, _outcome: Outcome, usage: Usage | undefined): void {
    const { request } = routed;
    this.#computing.unpin(routed);
    this.#decoding.unpin(routed);
    if (usage !== undefined) this.#compare(routed, usage, at);
    if (usage === undefined || usage.promptTokens <= 0 || request.promptTokens <= 0) return;
    const ratio = request.promptTokens / usage.promptTokens;
    const bounded = Math.min(TOKEN_RATIO_MAX, Math.max(1 / TOKEN_RATIO_MAX, ratio));
    this.#tokenRatio += TOKEN_RATIO_WEIGHT * (bounded - this.#tokenRatio);
  }

  /** Empties the index of an endpoint whose engine has lost its cache. */
  forget(endpoint: Endpoint): void {
    const held = this.#held[endpoint.slot];
    held?.remove();
    // A new one: what is pinned in the old one must not be unpinned here.
    if (held !== undefined) {
      this.#held[endpoint.slot] = new EndpointBlocks(this.#index, held.capacity);
    }
  }

  stop(): void {
    for (const held of this.#held) held?.remove();
    this.#held.length = 0;
    this.#decoding.clear();
    this.#computing.clear();
  }

  /** Matches all endpoints at once. */
  match({ prompt }: InferenceRequest): PrefixMatch {
    const { blockTokens } = prompt;
    const blocksMax = blocksToMatch(this.#config, blockTokens);
    let totalBlocks = 0;
    const matched = matchedTexts(prompt, (text) => {
      const whole = this.#counted(text);
      const count = Math.min(whole.count, blocksMax);
      totalBlocks += count;
      return this.#index.matched(count < whole.count ? { ...whole, count } : whole);
    });
    return {
      totalBlocks,
      blockTokens,
      matchedBlocks: ({ slot }) => {
        const held = this.#held[slot];
        return held === undefined ? 0 : (matched[held.owner] ?? 0);
      },
      mostBlocks: () => largest(matched),
      reuseRate: ({ slot }, now) => {
        const { requests: blocks } = this.#reused.of(slot);
        const olderHalf = (this.#held[slot]?.looseRoom ?? 1) / 2;
        return (blocks * this.#reused.rate(now)) / olderHalf;
      },
    };
  }

  /** Forgets what a cache has lost, as its answers show. */
  #compare(routed: Routed, { cachedTokens }: Usage, at: Millis): void {
    if (cachedTokens === undefined) return;
    const { endpoint, prefill, request, at: sentAt } = routed;
    const computes = prefill ?? endpoint;
    const engines = computes.attribute(ENGINE_COUNT);
    const answer = { expectedTokens: routed.cachedTokens, cachedTokens, sentAt, engines };
    if (!this.#found.answered(computes.slot, answer, at)) return;
    this.forget(computes);
    // The prompt of this request has just been computed there.
    this.#learn(computes, request.prompt);
  }

  #sent(routed: Routed, prompt: PromptBlocks): void {
    const { endpoint, prefill } = routed;
    this.#begin(this.#decoding, routed, endpoint, prompt);
    if (prefill !== undefined) this.#begin(this.#computing, routed, prefill, prompt);
  }

  #begin(inFlight: PromptsInFlight, routed: Routed, place: Endpoint, prompt: PromptBlocks): void {
    if (!this.#config.keepInFlight) {
      this.#learn(place, prompt);
      return;
    }
    const held = this.#heldFor(place, prompt);
    if (held === undefined) return;
    held.setUsedShare(place.metrics.kvCacheUsage);
    const before = held.reused;
    inFlight.pin(routed, held, prompt);
    const requests = held.reused - before;
    if (requests > 0) this.#reused.add(place.slot, { requests, workMs: 0 }, routed.at);
  }

  #learn(endpoint: Endpoint, prompt: PromptBlocks): void {
    for (const text of textsOf(prompt)) {
      const counted = this.#counted(text);
      this.#heldFor(endpoint, counted)?.touch(counted);
    }
  }

  #counted(prompt: PromptBlocks): PromptBlocks {
    return this.#config.keepInFlight ? prompt : withRest(prompt);
  }

  /** With the capacity for such blocks; undefined if there is nothing to learn. */
  #heldFor(endpoint: Endpoint, prompt: PromptBlocks): EndpointBlocks | undefined {
    const held = this.#held[endpoint.slot];
    if (held === undefined || blockCount(prompt) === 0 || this.#keepsNone(endpoint))
      return undefined;
    this.#blockTokens = prompt.blockTokens;
    const capacity = this.#capacityBlocks(endpoint);
    if (Math.abs(capacity - held.capacity) > RESIZE_SHARE * held.capacity) {
      held.setCapacity(capacity);
    }
    return held;
  }

  /** Whether it says so itself, or its answers show it: nothing is learned of it then. */
  #keepsNone(endpoint: Endpoint): boolean {
    return (
      endpoint.attribute(CACHE_CONFIG)?.keepsPrefixes === false ||
      this.#found.keepsNone(endpoint.slot)
    );
  }

  #capacityBlocks(endpoint: Endpoint): number {
    const { autoTune, lruCapacityPerServer } = this.#config;
    const given = lruCapacityPerServer * blockTokensOf(this.#config);
    const tokens = autoTune ? this.#sizes.of(endpoint, this.#tokenRatio) : given * this.#tokenRatio;
    const blocks = Math.floor(tokens / this.#blockTokens);
    return Math.min(CAPACITY_BLOCKS_MAX, Math.max(1, blocks));
  }
}

/** With the rest behind the last full block as a block of its own. */
function withRest(prompt: PromptBlocks): PromptBlocks {
  return prompt.hasRest === true ? { ...prompt, count: prompt.count + 1 } : prompt;
}
