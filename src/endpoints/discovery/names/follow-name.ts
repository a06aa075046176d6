import { messageOf } from '../../../framework/error.ts';
import type { Clock, Millis, Network, Timer } from '../../../framework/runtime.ts';

/** Answers hold at least so long: a server that says 0 is not asked all the time. */
const TTL_MS_MIN = 1000;
/** A mistake in DNS is over after this time, whatever it said. */
const TTL_MS_MAX = 5 * 60_000;
/** For answers without a time: those of the hosts file. */
const TTL_MS_DEFAULT = 10_000;
/** The time to the next attempt doubles with each failure. */
const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 30_000;
/**
 * An answer has so long to come before addresses that may not be kept any more are dropped: with many
 * names, and no server that answers, it may come minutes later.
 */
const ANSWER_MS = 30_000;
/** More addresses than a DNS answer over TCP has room for are not servers of one name. */
const ADDRESSES_MAX = 1024;

export interface FollowedName {
  readonly name: string;
  /** In order; those of the last good answer while the name cannot be resolved. */
  readonly addresses: readonly string[];
  /** Why the last attempt failed; undefined where it did not. */
  readonly error: string | undefined;
  /** Wall-clock time since the Unix epoch when attempts began to fail, or to succeed. */
  readonly since: Millis;
}

export interface FollowNameOptions {
  readonly name: string;
  readonly resolve: NonNullable<Network['resolve']>;
  readonly clock: Clock;
  /** How long the last addresses are kept while the name cannot be resolved. */
  readonly keepMs: Millis;
  /** Called after the first attempt, and after each that changes the addresses or the error. */
  readonly onChange: (now: FollowedName) => void;
}

/** Resolves a host name at once, and again whenever the answer is too old, until stopped. */
export class NameFollower {
  readonly #options: FollowNameOptions;
  #now: FollowedName | undefined;
  #goodAt: Millis = 0;
  #failures = 0;
  #timer: Timer | undefined;
  /** While an answer is awaited. */
  #expiry: Timer | undefined;
  #stopped = false;
  /** Resolves when the first attempt has ended. */
  readonly asked: Promise<void>;

  constructor(options: FollowNameOptions) {
    this.#options = options;
    this.asked = this.#ask();
  }

  /** Undefined until the first attempt has ended. */
  get now(): FollowedName | undefined {
    return this.#now;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#expiry?.cancel();
  }

  async #ask(): Promise<void> {
    const { name, resolve } = this.#options;
    let delay: Millis;
    this.#expireWithoutAnswer();
    try {
      const { addresses, ttlMs = TTL_MS_DEFAULT } = await resolve(name);
      if (addresses.length === 0) throw new Error('the answer has no address');
      if (this.#stopped) return;
      this.#succeeded(addresses);
      delay = Math.min(TTL_MS_MAX, Math.max(TTL_MS_MIN, ttlMs));
    } catch (error) {
      if (this.#stopped) return;
      delay = this.#failed(messageOf(error));
    }
    if (this.#stopped) return;
    this.#timer = this.#options.clock.setTimer(delay, () => void this.#ask());
  }

  /** The addresses are not kept for longer because a failure takes long. */
  #expireWithoutAnswer(): void {
    if (this.#now === undefined || this.#now.addresses.length === 0) return;
    const waitMs = Math.max(ANSWER_MS, this.#keptMs());
    this.#expiry = this.#options.clock.setTimer(waitMs, () =>
      this.#change({ addresses: [], error: this.#now?.error ?? 'there is no answer' }),
    );
  }

  /** How long the last addresses may still be kept. */
  #keptMs(): Millis {
    const { clock, keepMs } = this.#options;
    return this.#goodAt + keepMs - clock.now();
  }

  #succeeded(answer: readonly string[]): void {
    this.#expiry?.cancel();
    this.#failures = 0;
    this.#goodAt = this.#options.clock.now();
    const addresses = [...new Set(answer)].toSorted().slice(0, ADDRESSES_MAX);
    this.#change({ addresses, error: undefined });
  }

  /** Returns when to try again. */
  #failed(error: string): Millis {
    this.#expiry?.cancel();
    const retry = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    const known = this.#now?.addresses ?? [];
    const keptMs = this.#keptMs();
    this.#change({ addresses: keptMs > 0 ? known : [], error });
    return known.length > 0 && keptMs > 0 ? Math.min(retry, keptMs) : retry;
  }

  #change({ addresses, error }: Pick<FollowedName, 'addresses' | 'error'>): void {
    const { name, clock, onChange } = this.#options;
    const before = this.#now;
    const wasFailing = before?.error !== undefined;
    const lasts = before !== undefined && wasFailing === (error !== undefined);
    const since = lasts ? before.since : clock.wallTime();
    if (lasts && before.error === error && sameList(before.addresses, addresses)) return;
    this.#now = { name, addresses, error, since };
    onChange(this.#now);
  }
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each, index) => each === b[index]);
}
