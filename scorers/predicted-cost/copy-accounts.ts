import type { Routed } from '../../src/framework/observer.ts';
import { RequestMap } from '../../src/framework/request-map.ts';
import type { Millis } from '../../src/framework/runtime.ts';

/** Beginnings whose losses are remembered: those of the last requests that lost something. */
const ACCOUNTS_MAX = 1024;

/** A copy of a beginning that would have served a request sooner than those that hold it. */
export interface CopyOffer {
  /** Names the beginning by its last block. */
  readonly key: number;
  /** How much longer the request waits at the best endpoint that holds it than beside the copy. */
  readonly lostMs: Millis;
  /** What waiting requests with this beginning lose by now. */
  readonly waitingLostMs: Millis;
  /** What the copy costs, in the same milliseconds. */
  readonly priceMs: Millis;
  /** How often in a millisecond what the copy displaces would be used again. */
  readonly reuseRate: number;
}

interface Account {
  lostMs: Millis;
  at: Millis;
  /** Copies that are being computed. */
  computing: number;
}

/**
 * What requests have lost because too few endpoints hold the beginning of their prompts. A copy is
 * too dear for each of them alone, and worth its price once they have lost as much together: so
 * one pays at most twice what would have been best, whatever comes (the ski rental problem). What
 * the copy displaces would have been used again in this time, which saves its price each time: that
 * is taken off. Learns in `passed`, `made` and `ended` alone.
 */
export class CopyAccounts {
  readonly #accounts = new Map<number, Account>();
  readonly #computing = new RequestMap<Account>();

  /** How much of the copy's price is paid. */
  paidMs(offer: CopyOffer, now: Millis): Millis {
    const account = this.#accounts.get(offer.key);
    if (account === undefined) return offer.waitingLostMs;
    const spentMs = account.computing * offer.priceMs;
    return Math.max(0, leftMs(account, offer, now) + offer.waitingLostMs - spentMs);
  }

  /** The request was sent beside a copy. */
  passed(offer: CopyOffer, at: Millis): void {
    const known = this.#accounts.get(offer.key);
    if (known === undefined && offer.lostMs <= 0) return;
    const account = known ?? { lostMs: 0, at, computing: 0 };
    account.lostMs = leftMs(account, offer, at) + offer.lostMs;
    this.#update(offer, account, at);
  }

  /** The request was sent to where it makes a copy. */
  made(offer: CopyOffer, routed: Routed): void {
    const { at } = routed;
    const account = this.#accounts.get(offer.key) ?? { lostMs: 0, at, computing: 0 };
    account.lostMs = 0;
    account.computing += 1;
    this.#computing.set(routed, account);
    this.#update(offer, account, at);
  }

  /** The request has its first token, or has ended: a copy that it makes is there. */
  ended(routed: Routed): void {
    const account = this.#computing.delete(routed);
    if (account !== undefined) account.computing -= 1;
  }

  #update({ key }: CopyOffer, account: Account, at: Millis): void {
    account.at = at;
    this.#accounts.delete(key);
    this.#accounts.set(key, account);
    if (this.#accounts.size <= ACCOUNTS_MAX) return;
    const [oldest = 0] = this.#accounts.keys();
    this.#accounts.delete(oldest);
  }
}

function leftMs({ lostMs, at }: Account, { reuseRate, priceMs }: CopyOffer, now: Millis): Millis {
  return Math.max(0, lostMs - reuseRate * priceMs * (now - at));
}
