import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { SchedulingContext, SchedulingResult } from '../../framework/scheduling.ts';

/** Sessions remembered; the one unused for longest is forgotten first. About 10 MB. */
const SESSIONS_MAX = 100_000;
/** Longer tokens are no endpoint's. */
const TOKEN_CHARACTERS_MAX = 1024;

/** Which endpoint a request's session is bound to, and how it came to be. */
export interface SessionBinding {
  /** Whether this endpoint is it. */
  isHome(endpoint: Endpoint, context: SchedulingContext): boolean;
  onRouted?(routed: Routed): void;
  onEndpointRemoved?(endpoint: Endpoint): void;
  responseHeaders?(served: Endpoint, result: SchedulingResult): Iterable<readonly [string, string]>;
}

export interface TokenBindingOptions {
  /** Lower-case. */
  readonly header: string;
  /** Whose pick is written; the primary's when left out. */
  readonly profileName?: string | undefined;
}

/**
 * The client brings the binding: a header carries the endpoint's id in base64, and every response gives it anew. Nothing
 * is kept here, so that any replica of the picker can read it.
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

/** As a client's token names an endpoint: its id in base64. */
export function encodedId(id: EndpointId): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(id)));
}

export interface MemoryBindingOptions {
  /** Lower-case headers that may carry the session's id; the first one present counts. */
  readonly headers: readonly string[];
  readonly ttlMs: Millis;
}

interface Home {
  /** The endpoint's life, not its name: a successor of the same name has none of the session's history. */
  readonly life: object;
  readonly usedAt: Millis;
}

/** The session's id comes with the request, and where it went is remembered here. */
export function memoryBinding({ headers, ttlMs }: MemoryBindingOptions): SessionBinding {
  /** In order of last use. */
  const homes = new Map<string, Home>();
  const lives = new Map<EndpointId, object>();
  const expired = ({ usedAt }: Home, now: Millis): boolean => now - usedAt > ttlMs;
  const sessionOf = (sent: ReadonlyMap<string, string>): string | undefined =>
    headers.map((header) => sent.get(header)).find((session) => (session ?? '') !== '');
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
