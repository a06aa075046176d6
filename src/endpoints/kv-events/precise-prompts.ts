import type { Endpoint } from '../../framework/endpoint.ts';
import { isFresh } from '../../framework/freshness.ts';
import type { DataSourceHost } from '../../framework/plugin.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import { type NoTokensReason, readPrompt } from '../../openai/read-prompt.ts';
import { RemoteTokenizer } from '../tokenize/remote-tokenizer.ts';
import { tokenizerOf } from '../tokenize/token-producer.ts';
import { extraText } from './decode-batch.ts';
import type { EventSubscriptions } from './event-subscriptions.ts';
import { chainKeys } from './token-chain.ts';

/** Answers of tokenizers kept: 16 million ids or so. */
const CACHE_BYTES_MAX = 64 * 1024 * 1024;

/** A request's prompt as the engines cut it into blocks. */
export interface PreparedPrompt {
  readonly tokens: number;
  /** Its keys by block size, one set for each that engines have. */
  readonly blocks: ReadonlyMap<number, PromptBlocks>;
  /** Whether the model asked for is an adapter that some engine has named. */
  readonly adapter: boolean;
}

/** Where prompts' tokens came from, and why they did not. */
export type PromptSource = 'body' | 'tokenizer' | NoTokensReason | 'no-events';

/** Works out requests' block keys before their cycles, and keeps them as long as the request. */
export class PrecisePrompts {
  readonly tokenizer: RemoteTokenizer;
  readonly #host: DataSourceHost;
  readonly #subscriptions: EventSubscriptions;
  readonly #prepared = new WeakMap<InferenceRequest, PreparedPrompt>();
  readonly #counts = new Map<PromptSource, number>();
  #turn = 0;

  constructor(host: DataSourceHost, subscriptions: EventSubscriptions) {
    this.#host = host;
    this.#subscriptions = subscriptions;
    this.tokenizer = new RemoteTokenizer({
      runtime: host.runtime,
      deadlineMs: () => tokenizerOf(host.pool).deadlineMs,
      cacheBytesMax: CACHE_BYTES_MAX,
      address: (form) => this.#address(form),
    });
  }

  /** Requests by where their tokens came from. */
  get counts(): ReadonlyMap<PromptSource, number> {
    return this.#counts;
  }

  of(request: InferenceRequest): PreparedPrompt | undefined {
    return this.#prepared.get(request);
  }

  /** As `DataSource.prepare`. */
  prepare(request: InferenceRequest, body: readonly Uint8Array[], ready: () => void): boolean {
    // While no engine has told of any block there is nothing to look for.
    if (this.#subscriptions.blockSizes().size === 0) return this.#without('no-events');
    const prompt = readPrompt(request, body);
    if (prompt.kind === 'none') return this.#without(prompt.reason);
    const { salt } = prompt;
    if (prompt.kind === 'ids') return this.#with(request, { ids: prompt.ids, salt, from: 'body' });
    const told = this.tokenizer.tokens(prompt, (tokens) => {
      if (typeof tokens === 'string') this.#without(tokens);
      else this.#with(request, { ids: tokens, salt, from: 'tokenizer' });
      ready();
    });
    if (told === undefined) return true;
    if (typeof told === 'string') return this.#without(told);
    return this.#with(request, { ids: told, salt, from: 'tokenizer' });
  }

  #with(
    request: InferenceRequest,
    {
      ids,
      salt,
      from,
    }: {
      readonly ids: ArrayLike<number>;
      readonly salt: string;
      readonly from: 'body' | 'tokenizer';
    },
  ): false {
    const { chain, adapters } = this.#subscriptions;
    const adapter = adapters.has(request.model);
    const blocks = new Map<number, PromptBlocks>();
    for (const blockTokens of this.#subscriptions.blockSizes()) {
      const words = chainKeys(chain, ids, {
        blockTokens,
        root: adapter ? request.model : '',
        salt: salt === '' ? '' : extraText([salt], undefined),
      });
      blocks.set(blockTokens, { count: words.length / 2, blockTokens, words });
    }
    this.#prepared.set(request, { tokens: ids.length, blocks, adapter });
    this.#count(from);
    return false;
  }

  #without(reason: PromptSource): false {
    this.#count(reason);
    return false;
  }

  #count(source: PromptSource): void {
    this.#counts.set(source, (this.#counts.get(source) ?? 0) + 1);
  }

  /** The render API of the server that was named, or a model server of the pool, by turns. */
  #address(form: 'completion' | 'chat'): URL | undefined {
    const { url } = tokenizerOf(this.#host.pool);
    if (url !== undefined) {
      const path = form === 'chat' ? 'chat/completions' : 'completions';
      return new URL(`${url.replace(/\/+$/, '')}/v1/${path}/render`);
    }
    const endpoint = this.#nextEndpoint();
    return endpoint && new URL(`http://${endpoint.address}/tokenize`);
  }

  #nextEndpoint(): Endpoint | undefined {
    const endpoints = this.#host.pool.snapshot();
    const now = this.#host.runtime.clock.now();
    this.#turn += 1;
    for (let at = 0; at < endpoints.length; at++) {
      const endpoint = endpoints[(this.#turn + at) % endpoints.length];
      if (endpoint !== undefined && isFresh(endpoint, now)) return endpoint;
    }
    return endpoints[this.#turn % endpoints.length];
  }
}
