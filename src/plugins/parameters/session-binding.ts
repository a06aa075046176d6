import { requestAttributeKey } from '../../framework/cycle-facts.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Decision, SchedulingContext } from '../../framework/scheduling.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';

/** Sessions remembered, in about 50 MB at most; the one unused for longest is forgotten first. */
const SESSIONS_MAX = 100_000;
/** No endpoint has a longer token. */
const TOKEN_CHARACTERS_MAX = 1024;

/** Binds sessions to endpoints. */
export interface SessionBinding {
  /** Where the request's session belongs among the candidates; undefined where that is open. */
  homeOf(endpoints: readonly Endpoint[], context: SchedulingContext): Endpoint | undefined;
  onRouted?(routed: Routed): void;
  onEndpointRemoved?(endpoint: Endpoint): void;
  responseHeaders?(served: Endpoint, result: Decision): Iterable<readonly [string, string]>;
}

interface TokenBindingOptions {
  /** Lower-case. */
  readonly header: string;
  /** The profile whose pick the token names; without it, the endpoint that serves the request. */
  readonly profileName?: string | undefined;
}

/**
 * Keeps the binding with the client: each response has the endpoint's id in base64 in a header, and
 * the next request sends it back. Any replica of the picker can read it, since none has to remember
 * it.
 */
export function tokenBinding({ header, profileName }: TokenBindingOptions): SessionBinding {
  return {
    homeOf(endpoints, { request }) {
      const token = request.headers.get(header) ?? '';
      if (token === '' || token.length > TOKEN_CHARACTERS_MAX) return undefined;
      return endpoints.find(({ id }) => token === encodedId(id));
    },
    responseHeaders(served, { profiles }) {
      if (profileName === undefined) return [[header, encodedId(served.id)]];
      const { endpoint } = pickOf(profiles, profileName) ?? {};
      return endpoint === undefined ? [] : [[header, encodedId(endpoint.id)]];
    },
  };
}

interface ProfilePick {
  readonly endpoint: Endpoint | undefined;
  readonly context: SchedulingContext | undefined;
}

/** The first pick of a profile, and what it was picked for; undefined where it did not run. */
function pickOf(
  profiles: Decision['profiles'],
  profileName: string | undefined,
): Partial<ProfilePick> | undefined {
  const result = profiles.find(({ profile }) => profile === profileName);
  if (result?.kind !== 'picked') return undefined;
  return { endpoint: result.targets[0]?.endpoint, context: result.run?.context };
}

/** The token for an endpoint: its id in base64. */
export function encodedId(id: EndpointId): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(id)));
}

/** What may carry the id of a session: a header, or an attribute of the request. */
export interface SessionSource {
  /** Lower-case. */
  readonly header?: string | undefined;
  readonly attribute?: string | undefined;
  readonly producer?: string | undefined;
}

interface MemoryBindingOptions {
  /** The first one that has an id counts. */
  readonly sources: readonly SessionSource[];
  readonly ttlMs: Millis;
  /** The profile whose pick is remembered; without it, the endpoint that serves the request. */
  readonly profileName?: string | undefined;
  /** Shortens long ids: clients choose them. */
  readonly hash: KeyedHash;
}

/** One life of an endpoint: a successor of the same name has none of the sessions' history. */
interface Life {
  /** How many sessions are bound to it. */
  sessions: number;
}

interface Home {
  readonly life: Life;
  readonly usedAt: Millis;
}

/**
 * Remembers where the sessions went first, by the session id that requests carry. A session moves
 * only with a request for which its endpoint was no candidate. One that is bound to none of the
 * candidates belongs, as in the reference, to the one with the fewest sessions.
 */
export function memoryBinding({
  sources,
  ttlMs,
  hash,
  profileName,
}: MemoryBindingOptions): SessionBinding {
  const homes = new SessionHomes(ttlMs);
  /** Requests for which the endpoint of their session was a candidate. */
  const met = new WeakSet<InferenceRequest>();
  /** Where requests belong until the pick of their profile is known, which comes late. */
  const expected = new WeakMap<InferenceRequest, Endpoint>();
  const sessionOf = sessionReader(sources, hash);
  const bind = (
    request: InferenceRequest,
    endpoint: Endpoint,
    at: Millis,
    context?: SchedulingContext,
  ): void => {
    const session = sessionOf(request, context);
    if (session !== undefined) homes.bind(session, endpoint, { at, stays: met.has(request) });
  };
  return {
    homeOf(endpoints, context) {
      const { request, now } = context;
      const session = sessionOf(request, context);
      if (session === undefined) return undefined;
      const bound = homes.boundTo(session, endpoints, now);
      if (bound !== undefined) met.add(request);
      const home = bound ?? homes.withFewest(endpoints);
      if (profileName !== undefined && home !== undefined) expected.set(request, home);
      return home;
    },
    onRouted({ request, endpoint, at }) {
      const home = profileName === undefined ? endpoint : expected.get(request);
      if (home !== undefined) bind(request, home, at);
    },
    // The picks of single profiles are known here first.
    ...(profileName !== undefined && {
      responseHeaders(_served: Endpoint, { profiles }: Decision) {
        const { endpoint, context } = pickOf(profiles, profileName) ?? {};
        if (endpoint && context) bind(context.request, endpoint, context.now, context);
        return [];
      },
    }),
    onEndpointRemoved({ id }) {
      homes.removed(id);
    },
  };
}

/** The endpoints that sessions are bound to, and how many are bound to each. */
class SessionHomes {
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

/** The id of a request's session, shortened. Attributes can be read only in a cycle. */
type SessionReader = (request: InferenceRequest, context?: SchedulingContext) => string | undefined;

function sessionReader(sources: readonly SessionSource[], hash: KeyedHash): SessionReader {
  const keyed = sources.map(({ header, attribute, producer }) => ({
    header,
    key: attribute === undefined ? undefined : requestAttributeKey(attribute, producer),
  }));
  // A request asks for its endpoint, and is then routed; its id is read once.
  let last: InferenceRequest | undefined;
  let lastSession: string | undefined;
  return (request, context) => {
    if (request === last) return lastSession;
    let session: string | undefined;
    for (const { header, key } of keyed) {
      session = header === undefined ? key && context?.get(key) : request.headers.get(header);
      if ((session ?? '') !== '') break;
    }
    last = request;
    lastSession = session === undefined || session === '' ? undefined : hash.bounded(session);
    return lastSession;
  };
}
