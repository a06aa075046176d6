import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { KeyedHash } from '../../framework/keyed-hash.ts';
import { requestAttributeKey } from '../../framework/keys.ts';
import type { Routed } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
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

interface Home {
  /** One life of the endpoint: a successor of the same name has none of the session's history. */
  readonly life: object;
  readonly usedAt: Millis;
}

/**
 * Remembers where the sessions went first, by the session id that requests carry. A session moves
 * only with a request for which its endpoint was no candidate.
 */
export function memoryBinding({
  sources,
  ttlMs,
  hash,
  profileName,
}: MemoryBindingOptions): SessionBinding {
  /** By session id, in the order of last use. */
  const homes = new Map<string, Home>();
  const lives = new Map<EndpointId, object>();
  /** Requests for which the endpoint of their session was a candidate. */
  const met = new WeakSet<InferenceRequest>();
  const expired = ({ usedAt }: Home, now: Millis): boolean => now - usedAt > ttlMs;
  const sessionOf = sessionReader(sources, hash);
  const bind = (
    request: InferenceRequest,
    endpoint: Endpoint,
    at: Millis,
    context?: SchedulingContext,
  ): void => {
    const session = sessionOf(request, context);
    if (session === undefined) return;
    const kept = met.has(request) ? homes.get(session)?.life : undefined;
    const life = kept ?? lives.get(endpoint.id) ?? {};
    if (kept === undefined) lives.set(endpoint.id, life);
    homes.delete(session);
    homes.set(session, { life, usedAt: at });
    dropOld(homes, (home) => expired(home, at));
  };
  return {
    isHome({ id }, context) {
      const { request, now } = context;
      const session = sessionOf(request, context);
      const home = session === undefined ? undefined : homes.get(session);
      const isHome = home !== undefined && !expired(home, now) && lives.get(id) === home.life;
      if (isHome) met.add(request);
      return isHome;
    },
    onRouted({ request, endpoint, at }) {
      if (profileName === undefined) bind(request, endpoint, at);
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
      lives.delete(id);
    },
  };
}

/** Drops the sessions that are unused for longest, as far as they are too old or too many. */
function dropOld(homes: Map<string, Home>, isOld: (home: Home) => boolean): void {
  for (const [oldest, home] of homes) {
    if (homes.size <= SESSIONS_MAX && !isOld(home)) break;
    homes.delete(oldest);
  }
}

/** The id of a request's session, shortened. Attributes can be read only in a cycle. */
type SessionReader = (request: InferenceRequest, context?: SchedulingContext) => string | undefined;

function sessionReader(sources: readonly SessionSource[], hash: KeyedHash): SessionReader {
  const keyed = sources.map(({ header, attribute, producer }) => ({
    header,
    key: attribute === undefined ? undefined : requestAttributeKey(attribute, producer),
  }));
  // A request asks for each endpoint in turn, and is then routed; its id is read once.
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
