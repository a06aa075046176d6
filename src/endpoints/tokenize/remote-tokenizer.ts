import { messageOf } from '../../framework/error.ts';
import type { HttpResponse, HttpTls, Millis, Runtime } from '../../framework/runtime.ts';
import { parseBounded } from '../../openai/json/parse-bounded.ts';
import type { NoTokensReason, TokenQuestion } from '../../openai/read-prompt.ts';
import { Deadline } from '../../runtime/clock/deadline.ts';
import { TokenCache } from './token-cache.ts';
import { type HostAnswer, TokenizerHosts } from './tokenizer-hosts.ts';

export interface RemoteTokenizerOptions {
  readonly runtime: Runtime;
  /**
   * The URL for the next request, such as `http://10.0.0.1:8000/tokenize`; undefined: none. Where
   * there is a choice it should be one of a host that `shouldBeAsked`.
   */
  readonly address: (
    form: TokenQuestion['form'],
    shouldBeAsked: (host: string) => boolean,
  ) => URL | undefined;
  /** How to reach an `https:` URL; without it the certificate is verified. */
  readonly tls?: () => HttpTls | undefined;
  /** The longest that a request waits for its tokens. */
  readonly deadlineMs: () => Millis;
  /** Called with how long each prompt waited for its tokens: 0 where they were known. */
  readonly onWaited?: (waitedMs: Millis) => void;
  /** Called where a tokenizer, and not the prompt, is why there are no tokens. */
  readonly onFailed?: (url: URL, reason: string) => void;
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
/** What a chat template may add to a prompt; of the prompt itself each token has a byte or more. */
const TEMPLATE_TOKENS_MAX = 16_384;
/** An id has up to 8 digits; what separates ids, and what else is in the answer, takes no more. */
const BYTES_A_TOKEN = 16;

const encoder = new TextEncoder();

interface Question {
  readonly url: URL;
  readonly waiters: Set<Waiter>;
}

interface Waiter {
  readonly onTokens: OnTokens;
  readonly since: Millis;
  readonly deadline: Deadline;
}

/** Asks model servers for the tokens of prompts. Bounds the wait, and keeps the answers. */
export class RemoteTokenizer {
  readonly stats: TokenizerStats = { hits: 0, answers: 0, waitedMs: 0 };
  readonly #options: RemoteTokenizerOptions;
  readonly #cache: TokenCache;
  readonly #asked = new Map<string, Question>();
  readonly #hosts: TokenizerHosts;
  #askedChars = 0;

  constructor(options: RemoteTokenizerOptions) {
    this.#options = options;
    this.#cache = new TokenCache(options.cacheBytesMax);
    this.#hosts = new TokenizerHosts(options.runtime.clock);
  }

  get cacheBytes(): number {
    return this.#cache.bytes;
  }

  /** The tokens, or the reason why there are none. Undefined: `onTokens` will be called later. */
  tokens(
    { form, fields }: TokenQuestion,
    onTokens: OnTokens,
  ): Uint32Array | NoTokensReason | undefined {
    const question = JSON.stringify(fields);
    const key = `${form} ${question}`;
    const known = this.#cache.get(key);
    if (known !== undefined) {
      this.stats.hits += 1;
      this.#options.onWaited?.(0);
      return known;
    }
    let open = this.#asked.get(key);
    if (open === undefined) {
      if (this.#options.runtime.network.post === undefined) return 'no-tokenizer';
      if (this.#asked.size >= QUESTIONS_MAX || this.#askedChars + key.length > ASKED_CHARS_MAX) {
        return 'busy';
      }
      const url = this.#options.address(form, (host) => this.#hosts.shouldBeAsked(host));
      if (url === undefined) return 'no-tokenizer';
      open = { url, waiters: new Set() };
      this.#asked.set(key, open);
      this.#askedChars += key.length;
      this.#hosts.onAsked(url.host);
      this.#ask(url, key, question);
    }
    this.#wait(open, onTokens);
    return undefined;
  }

  #wait({ url, waiters }: Question, onTokens: OnTokens): void {
    const { runtime, deadlineMs, onFailed } = this.#options;
    const { clock } = runtime;
    const limitMs = deadlineMs();
    const waiter: Waiter = {
      onTokens,
      since: clock.now(),
      deadline: new Deadline(clock, Math.max(1, limitMs), () => {
        waiters.delete(waiter);
        this.#hosts.onLate(url.host);
        onFailed?.(url, `it did not answer within ${limitMs} ms`);
        this.#finish(waiter, 'deadline');
      }),
    };
    waiters.add(waiter);
    waiter.deadline.restart();
  }

  #finish(waiter: Waiter, tokens: Uint32Array | NoTokensReason): void {
    waiter.deadline.stop();
    const waitedMs = this.#options.runtime.clock.now() - waiter.since;
    this.stats.waitedMs += waitedMs;
    this.#options.onWaited?.(waitedMs);
    waiter.onTokens(tokens);
  }

  #ask(url: URL, key: string, question: string): void {
    const { network } = this.#options.runtime;
    const tls = this.#options.tls?.();
    const asked = encoder.encode(question);
    const tokensMax = asked.length + TEMPLATE_TOKENS_MAX;
    const bodyBytesMax = BYTES_A_TOKEN * tokensMax;
    network.post?.(url, asked, { timeoutMs: ANSWER_TIMEOUT_MS, bodyBytesMax, tls }).then(
      (answer) => {
        const tokens = tokensIn(answer, tokensMax);
        const failure = failureOf(answer, tokens);
        if (failure !== undefined) this.#options.onFailed?.(url, failure);
        const isUsable = tokens !== 'failed' || isRefusal(answer);
        this.#onAnswer(key, tokens, isUsable ? 'usable' : 'failed');
      },
      (error: unknown) => {
        this.#options.onFailed?.(url, messageOf(error));
        this.#onAnswer(key, 'failed', 'failed');
      },
    );
  }

  #onAnswer(key: string, tokens: Uint32Array | 'failed', answer: HostAnswer): void {
    const open = this.#asked.get(key);
    if (open === undefined) return;
    this.#asked.delete(key);
    this.#askedChars -= key.length;
    this.#hosts.onAnswered(open.url.host, answer);
    if (tokens !== 'failed') {
      this.stats.answers += 1;
      this.#cache.set(key, tokens);
    }
    for (const waiter of open.waiters) this.#finish(waiter, tokens);
  }
}

/**
 * vLLM's `/tokenize` answers `tokens`; its render API `token_ids`, for completions in a list. What
 * is no answer, or one of more tokens than the prompt can have, failed.
 */
function tokensIn({ status, body }: HttpResponse, tokensMax: number): Uint32Array | 'failed' {
  if (status !== 200) return 'failed';
  const answer = parseBounded([body]);
  const [only] = Array.isArray(answer) ? (answer as readonly unknown[]) : [answer];
  const { tokens, token_ids: ids = tokens } = (only ?? {}) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(ids) || ids.length > tokensMax || !ids.every(isTokenId)) return 'failed';
  return Uint32Array.from(ids as readonly number[]);
}

/** A refusal is about the prompt, and says nothing of the server. */
const isRefusal = ({ status }: HttpResponse): boolean => status >= 400 && status < 500;
/** Refusals that are not about the prompt: the server has no such API, or wants credentials. */
const NOT_OF_PROMPTS: ReadonlySet<number> = new Set([401, 403, 404, 405]);

function failureOf(answer: HttpResponse, tokens: Uint32Array | 'failed'): string | undefined {
  if (tokens !== 'failed') return undefined;
  if (answer.status === 200) return 'its answer is no list of the tokens of that prompt';
  if (isRefusal(answer) && !NOT_OF_PROMPTS.has(answer.status)) return undefined;
  return `it answered with status ${answer.status}`;
}

const isTokenId = (id: unknown): boolean => typeof id === 'number' && id >>> 0 === id;
