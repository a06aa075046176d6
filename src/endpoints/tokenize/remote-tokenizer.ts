import type { HttpResponse, HttpTls, Millis, Runtime, Timer } from '../../framework/runtime.ts';
import type { NoTokensReason, Prompt } from '../../openai/read-prompt.ts';
import { TokenCache } from './token-cache.ts';

type TextPrompt = Extract<Prompt, { readonly kind: 'text' }>;

interface RemoteTokenizerOptions {
  readonly runtime: Runtime;
  /** The URL for the next request, such as `http://10.0.0.1:8000/tokenize`; undefined: none. */
  readonly address: (form: TextPrompt['form']) => URL | undefined;
  /** How to reach an `https:` URL; without it the certificate is verified. */
  readonly tls?: () => HttpTls | undefined;
  /** The longest that a request waits for its tokens. */
  readonly deadlineMs: () => Millis;
  /** Room for answers and their requests. */
  readonly cacheBytesMax: number;
}

interface TokenizerStats {
  hits: number;
  answers: number;
  waitedMs: Millis;
}

/** Called once, with the token ids or the reason why there are none. */
type OnTokens = (tokens: Uint32Array | NoTokensReason) => void;

/** Requests under way. With more, the tokenizers are overloaded, and waiting makes it worse. */
const QUESTIONS_MAX = 64;
/** The prompts of the requests under way, together: half of the room for a single body. */
const ASKED_CHARS_MAX = 32 * 1024 * 1024;
/** An answer after its request's deadline still serves later requests, up to this time. */
const ANSWER_TIMEOUT_MS = 10_000;
/** Room for two million ids, the longest context there is, of eight bytes each, and for text. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

const utf8 = new TextDecoder();
const encoder = new TextEncoder();

interface Waiter {
  readonly onTokens: OnTokens;
  readonly since: Millis;
  readonly timer: Timer;
}

/** Asks model servers for the tokens of prompts. Bounds the wait, and keeps the answers. */
export class RemoteTokenizer {
  readonly stats: TokenizerStats = { hits: 0, answers: 0, waitedMs: 0 };
  readonly #options: RemoteTokenizerOptions;
  readonly #cache: TokenCache;
  readonly #asked = new Map<string, Set<Waiter>>();
  #askedChars = 0;

  constructor(options: RemoteTokenizerOptions) {
    this.#options = options;
    this.#cache = new TokenCache(options.cacheBytesMax);
  }

  get cacheBytes(): number {
    return this.#cache.bytes;
  }

  /** The tokens, or the reason why there are none. Undefined: `onTokens` will be called later. */
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
      if (this.#asked.size >= QUESTIONS_MAX || this.#askedChars + key.length > ASKED_CHARS_MAX) {
        return 'busy';
      }
      const url = this.#options.address(form);
      if (url === undefined) return 'no-tokenizer';
      waiters = new Set();
      this.#asked.set(key, waiters);
      this.#askedChars += key.length;
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
        this.#finish(waiter, 'deadline');
      }),
    };
    waiters.add(waiter);
  }

  #finish(waiter: Waiter, tokens: Uint32Array | NoTokensReason): void {
    waiter.timer.cancel();
    this.stats.waitedMs += this.#options.runtime.clock.now() - waiter.since;
    waiter.onTokens(tokens);
  }

  #ask(url: URL, key: string, question: string): void {
    const { network } = this.#options.runtime;
    const tls = this.#options.tls?.();
    const options = { timeoutMs: ANSWER_TIMEOUT_MS, bodyBytesMax: ANSWER_BYTES_MAX, tls };
    const answered = (tokens: Uint32Array | NoTokensReason): void => {
      const waiters = this.#asked.get(key) ?? new Set();
      this.#asked.delete(key);
      this.#askedChars -= key.length;
      if (typeof tokens !== 'string') {
        this.stats.answers += 1;
        this.#cache.set(key, tokens);
      }
      for (const waiter of waiters) this.#finish(waiter, tokens);
    };
    network.post?.(url, encoder.encode(question), options).then(
      (answer) => answered(tokensIn(answer)),
      () => answered('failed'),
    );
  }
}

/** vLLM's `/tokenize` answers `tokens`; its render API `token_ids`, for completions in a list. */
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
