import type { HttpResponse, Millis, Runtime, Timer } from '../../framework/runtime.ts';
import type { NoTokensReason, Prompt } from '../../openai/read-prompt.ts';
import { TokenCache } from './token-cache.ts';

type TextPrompt = Extract<Prompt, { readonly kind: 'text' }>;

export interface RemoteTokenizerOptions {
  readonly runtime: Runtime;
  /** Where the next question goes, such as `http://10.0.0.1:8000/tokenize`; undefined when there is nobody to ask. */
  readonly address: (form: TextPrompt['form']) => URL | undefined;
  /** A request waits for its tokens no longer. */
  readonly deadlineMs: () => Millis;
  /** Room for answers, and for the questions they answer. */
  readonly cacheBytesMax: number;
}

export interface TokenizerStats {
  hits: number;
  answers: number;
  /** Milliseconds that requests waited, together. */
  waitedMs: Millis;
}

/** Told once: ids, or why there are none. */
export type OnTokens = (tokens: Uint32Array | NoTokensReason) => void;

/** Questions under way at once: beyond it the tokenizers are behind and waiting would only make it longer. */
const QUESTIONS_MAX = 64;
/** An answer that misses its request's deadline still helps the next one; but not for ever. */
const ANSWER_TIMEOUT_MS = 10_000;
/** Ids as JSON take up to eight bytes each: two million of them, the longest context there is, and text beside them. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

const utf8 = new TextDecoder();
const encoder = new TextEncoder();

interface Waiter {
  readonly onTokens: OnTokens;
  readonly since: Millis;
  readonly timer: Timer;
}

/**
 * Asks a model server for a prompt's tokens: equal prompts once, answers kept, each request answered by its deadline at
 * the latest.
 */
export class RemoteTokenizer {
  readonly stats: TokenizerStats = { hits: 0, answers: 0, waitedMs: 0 };
  readonly #options: RemoteTokenizerOptions;
  readonly #cache: TokenCache;
  readonly #asked = new Map<string, Set<Waiter>>();

  constructor(options: RemoteTokenizerOptions) {
    this.#options = options;
    this.#cache = new TokenCache(options.cacheBytesMax);
  }

  get cacheBytes(): number {
    return this.#cache.bytes;
  }

  /**
   * The tokens if they are known, or the reason why they cannot be asked for. Undefined: they are being asked for, and
   * `onTokens` will be called, later.
   */
  tokens(
    { form, fields }: TextPrompt,
    onTokens: OnTokens,
  ): Uint32Array | NoTokensReason | undefined {
    const question = JSON.stringify(fields);
    const key = `${form} ${question}`;
    const known = this.#cache.get(key);
    if (known !== undefined) {
      this.stats.hits += 1;
      return known;
    }
    let waiters = this.#asked.get(key);
    if (waiters === undefined) {
      if (this.#options.runtime.network.post === undefined) return 'no-tokenizer';
      if (this.#asked.size >= QUESTIONS_MAX) return 'busy';
      const url = this.#options.address(form);
      if (url === undefined) return 'no-tokenizer';
      waiters = new Set();
      this.#asked.set(key, waiters);
      this.#ask(url, key, question);
    }
    this.#wait(waiters, onTokens);
    return undefined;
  }

  #wait(waiters: Set<Waiter>, onTokens: OnTokens): void {
    const { clock } = this.#options.runtime;
    const waiter: Waiter = {
      onTokens,
      since: clock.now(),
      timer: clock.setTimer(this.#options.deadlineMs(), () => {
        waiters.delete(waiter);
        this.#tell(waiter, 'deadline');
      }),
    };
    waiters.add(waiter);
  }

  #tell(waiter: Waiter, tokens: Uint32Array | NoTokensReason): void {
    waiter.timer.cancel();
    this.stats.waitedMs += this.#options.runtime.clock.now() - waiter.since;
    waiter.onTokens(tokens);
  }

  #ask(url: URL, key: string, question: string): void {
    const { network } = this.#options.runtime;
    const options = { timeoutMs: ANSWER_TIMEOUT_MS, bodyBytesMax: ANSWER_BYTES_MAX };
    const answered = (tokens: Uint32Array | NoTokensReason): void => {
      const waiters = this.#asked.get(key) ?? new Set();
      this.#asked.delete(key);
      if (typeof tokens !== 'string') {
        this.stats.answers += 1;
        this.#cache.set(key, tokens);
      }
      for (const waiter of waiters) this.#tell(waiter, tokens);
    };
    network.post?.(url, encoder.encode(question), options).then(
      (answer) => answered(tokensIn(answer)),
      () => answered('failed'),
    );
  }
}

/** vLLM's `/tokenize` answers `tokens`; its render API `token_ids`, for a completion in a list of one. */
function tokensIn({ status, body }: HttpResponse): Uint32Array | NoTokensReason {
  if (status !== 200) return 'failed';
  try {
    const answer: unknown = JSON.parse(utf8.decode(body));
    const [only = {}] = Array.isArray(answer) ? answer : [answer];
    const { tokens, token_ids: ids = tokens } = only as Readonly<Record<string, unknown>>;
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'number')) return 'failed';
    return Uint32Array.from(ids);
  } catch {
    return 'failed';
  }
}
