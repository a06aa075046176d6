import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';

/** Sessions remembered, in about 50 MB at most; the one unused for longest is forgotten first. */
const SESSIONS_MAX = 100_000;

/** One life of an endpoint: a successor of the same name has none of the sessions' history. */
interface Life {
  /** How many sessions are bound to it. */
  sessions: number;
}

interface Home {
  readonly life: Life;
  readonly usedAt: Millis;
}

/** The endpoints that sessions are bound to, and how many are bound to each. */
export class SessionHomes {
  readonly #ttlMs: Millis;
  /** By session id, in the order of last use. */
  readonly #homes = new Map<string, Home>();
  readonly #lives = new Map<EndpointId, Life>();

  constructor(ttlMs: Millis) {
    this.#ttlMs = ttlMs;
  }

  /** The one of these that the session is bound to. */
  boundTo(session: string, endpoints: readonly Endpoint[], now: Millis): Endpoint | undefined {
    const home = this.#homes.get(session);
    if (home === undefined || this.#isOld(home, now)) return undefined;
    return endpoints.find(({ id }) => this.#lives.get(id) === home.life);
  }

  /** The first one of those with the fewest sessions. */
  withFewest(endpoints: readonly Endpoint[]): Endpoint | undefined {
    let best: Endpoint | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const endpoint of endpoints) {
      const sessions = this.#lives.get(endpoint.id)?.sessions ?? 0;
      if (sessions >= fewest) continue;
      best = endpoint;
      fewest = sessions;
    }
    return best;
  }

  /** Binds a session to the endpoint, unless it stays where it is. */
  bind(
    session: string,
    { id }: Endpoint,
    { at, stays }: { readonly at: Millis; readonly stays: boolean },
  ): void {
    const former = this.#homes.get(session)?.life;
    const kept = stays ? former : undefined;
    const life = kept ?? this.#lives.get(id) ?? { sessions: 0 };
    if (kept === undefined) this.#lives.set(id, life);
    if (former !== undefined) former.sessions -= 1;
    life.sessions += 1;
    this.#homes.delete(session);
    this.#homes.set(session, { life, usedAt: at });
    this.#dropOld(at);
  }

  removed(id: EndpointId): void {
    this.#lives.delete(id);
  }

  /** Drops the sessions that are unused for longest, as far as they are too old or too many. */
  #dropOld(now: Millis): void {
    for (const [oldest, home] of this.#homes) {
      if (this.#homes.size <= SESSIONS_MAX && !this.#isOld(home, now)) break;
      home.life.sessions -= 1;
      this.#homes.delete(oldest);
    }
  }

  #isOld({ usedAt }: Home, now: Millis): boolean {
    return now - usedAt > this.#ttlMs;
  }
}
