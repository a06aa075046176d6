import { type PrefixMatch, prefixMatchKey } from '../../framework/cycle-facts.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';
import type { PrefixSharing, Routed } from '../../framework/observer.ts';
import type { Producer } from '../../framework/plugin.ts';
import {
  blockCount,
  type InferenceRequest,
  type PromptBlocks,
  textsOf,
} from '../../framework/request.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { largest } from '../../picker/prefix-index/prefix-index.ts';
import { SentBlocks } from '../../picker/prefix-index/sent-blocks.ts';
import { type ApproxPrefixConfig, blocksToMatch, hashedInBlock } from './approx-prefix-config.ts';
import { countedBlocks } from './counted-blocks.ts';
import { matchedTexts } from './matched-texts.ts';

/** The reference looks for endpoints that are gone every two minutes. */
const ABSENT_MS_MAX: Millis = 120_000;
/** What is forgotten of an endpoint that is gone at each request: so no request waits for all. */
const FORGOTTEN_BLOCKS_MAX = 1024;
/** Bounds an endpoint's part of the index to 48 MB, even if an engine reports nonsense. */
const CAPACITY_BLOCKS_MAX = 1_000_000;

/** The blocks of a prompt as the reference counts them. */
interface Counted {
  readonly prompt: PromptBlocks;
  readonly blocks: PromptBlocks;
}

/**
 * The approximate prefix index of the reference picker: it knows the prompts that were sent, and
 * nothing of what becomes of them. It has room for as many of its blocks, of at least 64 tokens, as
 * the engine has of its own, however small those are; what was sent first is forgotten first.
 */
export class SentPrefixIndex implements Producer, PrefixSharing {
  readonly facts: Producer['facts'];
  readonly #config: ApproxPrefixConfig;
  readonly #clock: Clock;
  readonly #blocks = new SentBlocks();
  /** The numbers of endpoints in `#blocks`, by slot. */
  readonly #numbers: (number | undefined)[] = [];
  /** Removed endpoints: an endpoint that comes back soon gets its blocks back. */
  readonly #absent = new Map<EndpointId, { readonly number: number; readonly since: Millis }>();
  /** Numbers of endpoints that are gone, whose blocks are being forgotten. */
  readonly #leaving: number[] = [];
  readonly #free: number[] = [];
  #used = 0;
  /** The prompt of the newest request whose match was asked for. */
  #counted: Counted | undefined;

  constructor(config: ApproxPrefixConfig, name: string, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.facts = [
      {
        key: prefixMatchKey(name),
        compute: (endpoints, { request }) => this.match(request, endpoints),
      },
    ];
  }

  /** The number of blocks in the endpoint's part of the index, for metrics and debugging. */
  size({ slot }: Endpoint): number {
    const number = this.#numbers[slot];
    return number === undefined ? 0 : this.#blocks.size(number);
  }

  /** See `PrefixSharing`. */
  heldBlocks({ slot }: Endpoint, blocksMax: number): Uint32Array {
    const number = this.#numbers[slot];
    return number === undefined ? new Uint32Array(0) : this.#blocks.newest(number, blocksMax);
  }

  /** See `PrefixSharing`. */
  addOlderBlocks(endpoint: Endpoint, words: Uint32Array): void {
    const number = this.#numbers[endpoint.slot];
    if (number !== undefined) this.#blocks.addOlder(number, words, this.#capacity(endpoint));
  }

  onEndpointAdded({ slot, id }: Endpoint): void {
    this.#dropAbsent();
    this.#numbers[slot] = this.#absent.get(id)?.number ?? this.#free.pop() ?? this.#used++;
    this.#absent.delete(id);
  }

  onEndpointRemoved({ slot, id }: Endpoint): void {
    this.#dropAbsent();
    const number = this.#numbers[slot];
    if (number !== undefined) this.#absent.set(id, { number, since: this.#clock.now() });
    this.#numbers[slot] = undefined;
  }

  onRouted({ request, endpoint, prefill }: Routed): void {
    this.#send(request.prompt, endpoint, prefill);
  }

  onBodyRead({ endpoint, prefill }: Routed, { prompt }: InferenceRequest): void {
    this.#send(prompt, endpoint, prefill);
  }

  stop(): void {
    this.#numbers.length = 0;
    this.#counted = undefined;
  }

  /** Nothing is looked up before an endpoint is asked for. */
  match({ prompt }: InferenceRequest, endpoints: readonly Endpoint[] = []): PrefixMatch {
    const blocks = this.#count(prompt, endpoints[0]);
    this.#counted = { prompt, blocks };
    let matched: ArrayLike<number> | undefined;
    const matchedOf = (): ArrayLike<number> =>
      (matched ??= matchedTexts(blocks, (text) => this.#blocks.matched(text)));
    return {
      totalBlocks: blockCount(blocks),
      blockTokens: blocks.blockTokens,
      matchedBlocks: ({ slot }) => {
        const number = this.#numbers[slot];
        const held = matchedOf();
        return number === undefined ? 0 : (held[number] ?? 0);
      },
      mostBlocks: () => largest(matchedOf()),
    };
  }

  /** The prompt counts as held where it is decoded, and where it is computed. */
  #send(prompt: PromptBlocks, decode: Endpoint, prefill: Endpoint | undefined): void {
    this.#forgetSome();
    // The size of blocks is that of the decision.
    const known = this.#counted?.prompt === prompt ? this.#counted.blocks : undefined;
    const blocks = known ?? this.#count(prompt, decode);
    if (blockCount(blocks) === 0) return;
    for (const endpoint of prefill === undefined ? [decode] : [decode, prefill]) {
      const number = this.#numbers[endpoint.slot];
      if (number === undefined) continue;
      const capacity = this.#capacity(endpoint);
      for (const text of textsOf(blocks)) this.#blocks.send(number, text, capacity);
    }
  }

  /** `first` says the size of a block, as the first candidate does in the reference. */
  #count(prompt: PromptBlocks, first: Endpoint | undefined): PromptBlocks {
    const hashed = hashedInBlock(this.#config, first === undefined ? [] : [first]);
    const blocksMax = blocksToMatch(this.#config, prompt.blockTokens * hashed);
    return countedBlocks(prompt, hashed, blocksMax);
  }

  #capacity(endpoint: Endpoint): number {
    const { autoTune, lruCapacityPerServer } = this.#config;
    const reported = autoTune ? endpoint.attribute(CACHE_CONFIG)?.blocks : undefined;
    return Math.min(CAPACITY_BLOCKS_MAX, reported || lruCapacityPerServer);
  }

  #dropAbsent(): void {
    const now = this.#clock.now();
    for (const [id, { number, since }] of this.#absent) {
      if (now - since < ABSENT_MS_MAX) continue;
      this.#leaving.push(number);
      this.#absent.delete(id);
    }
  }

  /** A number is free again when none of its blocks is left. */
  #forgetSome(): void {
    const number = this.#leaving.at(-1);
    if (number === undefined || !this.#blocks.drop(number, FORGOTTEN_BLOCKS_MAX)) return;
    this.#leaving.pop();
    this.#free.push(number);
  }
}
