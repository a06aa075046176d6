import { messageOf } from '../../framework/error.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { AccessRefusal, MetricsGuard } from './access.ts';

/** What an authority says of a token; `refusal` is undefined where its bearer may read. */
export interface Review {
  readonly refusal: AccessRefusal | undefined;
}

interface ReviewedTokensOptions {
  /** Rejects where the authority gives no verdict. */
  readonly review: (token: string) => Promise<Review>;
  /** The key of a token in the cache, so that tokens are not kept. */
  readonly keyOf: (token: string) => string;
  readonly clock: Clock;
}

interface Known extends Review {
  readonly at: Millis;
}

/** The reference keeps verdicts as long. */
const ALLOWED_FRESH_MS = 60_000;
const REFUSED_FRESH_MS = 30_000;
/** While the authority cannot be asked, a caller that was allowed this recently still is. */
const ALLOWED_STALE_MS = 300_000;
/** Tokens in each of the two caches. Invented tokens cannot push out those that are allowed. */
const KNOWN_MAX = 1000;
/** Clients with invented tokens must not flood the authority. */
const UNDER_WAY_MAX = 16;

/** Asks an authority about tokens, each once in a while, and keeps its verdicts meanwhile. */
export class ReviewedTokens {
  readonly #options: ReviewedTokensOptions;
  readonly #allowed = new Map<string, Known>();
  readonly #refused = new Map<string, Known>();
  readonly #underWay = new Map<string, Promise<Review>>();

  constructor(options: ReviewedTokensOptions) {
    this.#options = options;
  }

  readonly guard: MetricsGuard = (token) => {
    if (token === undefined) {
      const sentence = 'this needs the token of a service account, as Authorization: Bearer …';
      return { status: 401, sentence };
    }
    const key = this.#options.keyOf(token);
    const now = this.#options.clock.now();
    const known = this.#allowed.get(key) ?? this.#refused.get(key);
    const freshMs = known?.refusal === undefined ? ALLOWED_FRESH_MS : REFUSED_FRESH_MS;
    if (known !== undefined && now - known.at < freshMs) return known.refusal;
    return this.#reviewed(token, key);
  };

  async #reviewed(token: string, key: string): Promise<AccessRefusal | undefined> {
    let review = this.#underWay.get(key);
    if (review === undefined) {
      if (this.#underWay.size >= UNDER_WAY_MAX) {
        return { status: 429, sentence: 'too many tokens are being reviewed; ask again later' };
      }
      review = this.#options.review(token).finally(() => this.#underWay.delete(key));
      this.#underWay.set(key, review);
    }
    const at = this.#options.clock.now();
    try {
      const { refusal } = await review;
      this.#keep(key, { refusal, at });
      return refusal;
    } catch (error) {
      const known = this.#allowed.get(key);
      if (known !== undefined && at - known.at < ALLOWED_STALE_MS) return undefined;
      return { status: 503, sentence: messageOf(error) };
    }
  }

  #keep(key: string, known: Known): void {
    this.#allowed.delete(key);
    this.#refused.delete(key);
    const cache = known.refusal === undefined ? this.#allowed : this.#refused;
    cache.set(key, known);
    if (cache.size <= KNOWN_MAX) return;
    const [oldest] = cache.keys();
    if (oldest !== undefined) cache.delete(oldest);
  }
}
