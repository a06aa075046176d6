import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { KeyedHash } from '../../framework/keyed-hash.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Decision, SchedulingContext } from '../../framework/scheduling.ts';

/** Sessions remembered, in about 50 MB at most; the one unused for longest is forgotten first. */
const SESSIONS_MAX = 100_000;
/** No endpoint has a longer token. */
const TOKEN_CHARACTERS_MAX = 1024;

/** Binds sessions to endpoints. */
export interface SessionBinding {
  /** Whether the request's session is bound to this endpoint. */
  isHome(endpoint: Endpoint, context: SchedulingContext): boolean;
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
    isHome: ({ id }, { request }) => {
      const token = request.headers.get(header) ?? '';
      return token !== '' && token.length <= TOKEN_CHARACTERS_MAX && token === encodedId(id);
    },
    responseHeaders(served, { profiles }) {
      if (profileName === undefined) return [[header, encodedId(served.id)]];
      const picked = profiles.find(({ profile }) => profile === profileName);
      const endpoint = picked?.kind === 'picked' ? picked.targets[0]?.endpoint : undefined;
      return endpoint === undefined ? [] : [[header, encodedId(endpoint.id)]];
    },
  };
}

/** The token for an endpoint: its id in base64. */
export function encodedId(id: EndpointId): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(id)));
}

interface MemoryBindingOptions {
  /** Lower-case headers that may carry the session's id; the first one present counts. */
  readonly headers: readonly string[];
  readonly ttlMs: Millis;
  /** Shortens long ids: clients choose them. */
  readonly hash: KeyedHash;
}

interface Home {
  /** One life of the endpoint: a successor of the same name has none of the session's history. */
  readonly life: object;
  readonly usedAt: Millis;
}

/** Remembers where the sessions went, by the session id that requests carry. */
export function memoryBinding({ headers, ttlMs, hash }: MemoryBindingOptions): SessionBinding {
  /** By session id, in the order of last use. */
  const homes = new Map<string, Home>();
  const lives = new Map<EndpointId, object>();
  const expired = ({ usedAt }: Home, now: Millis): boolean => now - usedAt > ttlMs;
  // A request asks for each endpoint in turn; its id is read and shortened once.
  let lastSent: ReadonlyMap<string, string> | undefined;
  let lastSession: string | undefined;
  const sessionOf = (sent: ReadonlyMap<string, string>): string | undefined => {
    if (sent === lastSent) return lastSession;
    const session = headers.map((header) => sent.get(header)).find((id) => (id ?? '') !== '');
    lastSent = sent;
    lastSession = session === undefined ? undefined : hash.bounded(session);
    return lastSession;
  };
  return {
    isHome({ id }, { request, now }) {
      const session = sessionOf(request.headers);
      const home = session === undefined ? undefined : homes.get(session);
      return home !== undefined && !expired(home, now) && lives.get(id) === home.life;
    },
    onRouted({ request, endpoint, at }) {
      const session = sessionOf(request.headers);
      if (session === undefined) return;
      const life = lives.get(endpoint.id) ?? {};
      lives.set(endpoint.id, life);
      homes.delete(session);
      homes.set(session, { life, usedAt: at });
      for (const [oldest, home] of homes) {
        if (homes.size <= SESSIONS_MAX && !expired(home, at)) break;
        homes.delete(oldest);
      }
    },
    onEndpointRemoved({ id }) {
      lives.delete(id);
    },
  };
}
