import type { Endpoint } from '../../framework/endpoint.ts';
import { isFresh } from '../../framework/endpoint.ts';
import type { DataSourceHost } from '../../framework/plugin.ts';
import { type InferenceRequest, NO_BLOCKS, type PromptBlocks } from '../../framework/request.ts';
import { type NoTokensReason, readPrompt, type TokenQuestion } from '../../openai/read-prompt.ts';
import { RemoteTokenizer } from '../tokenize/remote-tokenizer.ts';
import { tokenizerOf } from '../tokenize/token-producer.ts';
import { tokensOfAll } from '../tokenize/tokens-of-all.ts';
import { chainKeys } from './blocks/token-chain.ts';
import type { EventSubscriptions } from './event-subscriptions.ts';
import { eventTroublesOf } from './health/event-troubles.ts';
import { extraText } from './messages/decode-batch.ts';

/** Room for the tokenizers' answers: about 16 million ids. */
const CACHE_BYTES_MAX = 64 * 1024 * 1024;

/** The API of a question, where a server renders. */
const RENDERED: Readonly<Record<TokenQuestion['form'], string>> = {
  completion: 'completions',
  chat: 'chat/completions',
  messages: 'messages',
};

/** A request's prompt, divided into blocks as the engines do it. */
export interface PreparedPrompt {
  /** The number of tokens of each text. */
  readonly lengths: readonly number[];
  /** The block keys, by each block size that an engine has. */
  readonly blocks: ReadonlyMap<number, PromptBlocks>;
  /** Whether the requested model is an adapter that occurred in events. */
  readonly adapter: boolean;
}

/** Where a prompt's tokens came from, or why they are unknown. */
export type PromptSource = 'body' | 'tokenizer' | NoTokensReason | 'no-events';

/** Computes the block keys of requests before they are scheduled. Keeps them with the request. */
export class PrecisePrompts {
  readonly tokenizer: RemoteTokenizer;
  /** The number of requests by the source of their tokens. */
  readonly counts: Map<PromptSource, number> = new Map();
  readonly #host: DataSourceHost;
  readonly #subscriptions: EventSubscriptions;
  readonly #prepared = new WeakMap<InferenceRequest, PreparedPrompt>();
  #turn = 0;

  constructor(host: DataSourceHost, subscriptions: EventSubscriptions) {
    this.#host = host;
    this.#subscriptions = subscriptions;
    this.tokenizer = new RemoteTokenizer({
      runtime: host.runtime,
      deadlineMs: () => tokenizerOf(host.pool).deadlineMs,
      cacheBytesMax: CACHE_BYTES_MAX,
      address: (form, shouldBeAsked) => this.#address(form, shouldBeAsked),
      tls: () => tokenizerOf(host.pool).tls,
      onFailed: (url, reason) => eventTroublesOf(host.pool).onNoTokens(url, reason),
      onWaited: (waitedMs) => tokenizerOf(host.pool).stopwatch?.observe(waitedMs),
    });
  }

  of(request: InferenceRequest): PreparedPrompt | undefined {
    return this.#prepared.get(request);
  }

  /** See `RequestPreparation.prepare`. */
  prepare(request: InferenceRequest, body: readonly Uint8Array[], ready: () => void): boolean {
    // Without any event there are no blocks to match.
    if (this.#subscriptions.blockSizes().size === 0) return this.#counted('no-events');
    const prompt = readPrompt(request, body, tokenizerOf(this.#host.pool));
    if (prompt.kind === 'none') return this.#counted(prompt.reason);
    const { salt } = prompt;
    if (prompt.kind === 'ids') return this.#with(request, prompt.texts, salt, 'body');
    const known = tokensOfAll(this.tokenizer, prompt.questions, (texts) => {
      if (typeof texts === 'string') this.#counted(texts);
      else this.#with(request, texts, salt, 'tokenizer');
      ready();
    });
    if (known === undefined) return true;
    if (typeof known === 'string') return this.#counted(known);
    return this.#with(request, known, salt, 'tokenizer');
  }

  #with(
    request: InferenceRequest,
    texts: readonly ArrayLike<number>[],
    salt: string,
    from: 'body' | 'tokenizer',
  ): false {
    const { chain, adapters } = this.#subscriptions;
    const adapter = adapters.has(request.model);
    const blocks = new Map<number, PromptBlocks>();
    const root = adapter ? request.model : '';
    const extra = salt === '' ? '' : extraText([salt], undefined);
    for (const blockTokens of this.#subscriptions.blockSizes()) {
      const chains = texts.flatMap((ids) => {
        const words = chainKeys(chain, ids, { blockTokens, root, salt: extra });
        return words.length === 0 ? [] : [{ count: words.length / 2, blockTokens, words }];
      });
      const [first = { ...NO_BLOCKS, blockTokens }, ...others] = chains;
      blocks.set(blockTokens, others.length === 0 ? first : { ...first, others });
    }
    this.#prepared.set(request, { lengths: texts.map(({ length }) => length), blocks, adapter });
    return this.#counted(from);
  }

  #counted(source: PromptSource): false {
    this.counts.set(source, (this.counts.get(source) ?? 0) + 1);
    return false;
  }

  /** The configured server's render API, or else the tokenizer of each model server in turn. */
  #address(form: TokenQuestion['form'], shouldBeAsked: (host: string) => boolean): URL | undefined {
    const { url, scheme } = tokenizerOf(this.#host.pool);
    if (url !== undefined) {
      return new URL(`${url.replace(/\/+$/, '')}/v1/${RENDERED[form]}/render`);
    }
    const endpoint = this.#nextEndpoint(shouldBeAsked);
    return endpoint && new URL(`${scheme}://${endpoint.address}/tokenize`);
  }

  /** In turn: one that answers its scrapes and questions, or else the next one. */
  #nextEndpoint(shouldBeAsked: (host: string) => boolean): Endpoint | undefined {
    const endpoints = this.#host.pool.snapshot();
    const now = this.#host.runtime.clock.now();
    this.#turn += 1;
    for (let at = 0; at < endpoints.length; at++) {
      const endpoint = endpoints[(this.#turn + at) % endpoints.length];
      if (endpoint === undefined || !isFresh(endpoint, now)) continue;
      if (shouldBeAsked(endpoint.address)) return endpoint;
    }
    return endpoints[this.#turn % endpoints.length];
  }
}
