import { requestAttributeKey } from '../../framework/cycle-facts.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Decision, SchedulingContext } from '../../framework/scheduling.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { SessionHomes } from './session-homes.ts';

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

/**
 * Remembers where the sessions went first, by the session id that requests carry. A session moves
 * only with a request for which its endpoint was no candidate. One that is bound to none of the
 * candidates belongs, as in the reference, to the one with the fewest sessions.
 */
export function memoryBinding(options: MemoryBindingOptions): SessionBinding {
  const sessions = new BoundSessions(options);
  const { profileName } = options;
  return profileName === undefined
    ? bindingToServed(sessions)
    : bindingToPick(sessions, profileName);
}

function bindingToServed(sessions: BoundSessions): SessionBinding {
  return {
    homeOf: (endpoints, context) => sessions.homeOf(endpoints, context),
    onRouted: ({ request, endpoint, at }) => sessions.bind(request, endpoint, at),
    onEndpointRemoved: ({ id }) => sessions.removed(id),
  };
}

function bindingToPick(sessions: BoundSessions, profileName: string): SessionBinding {
  /** Where requests belong until the pick of their profile is known, which comes late. */
  const expected = new WeakMap<InferenceRequest, Endpoint>();
  return {
    homeOf(endpoints, context) {
      const home = sessions.homeOf(endpoints, context);
      if (home !== undefined) expected.set(context.request, home);
      return home;
    },
    onRouted({ request, at }) {
      const home = expected.get(request);
      if (home !== undefined) sessions.bind(request, home, at);
    },
    // The picks of single profiles are known here first.
    responseHeaders(_served, { profiles }) {
      const { endpoint, context } = pickOf(profiles, profileName) ?? {};
      if (endpoint && context) sessions.bind(context.request, endpoint, context.now, context);
      return [];
    },
    onEndpointRemoved: ({ id }) => sessions.removed(id),
  };
}

/** The sessions of requests, and where they are at home. */
class BoundSessions {
  readonly #homes: SessionHomes;
  readonly #sessionOf: ReturnType<typeof sessionReader>;
  /** Requests for which the endpoint of their session was a candidate. */
  readonly #met = new WeakSet<InferenceRequest>();

  constructor({ sources, ttlMs, hash }: MemoryBindingOptions) {
    this.#homes = new SessionHomes(ttlMs);
    this.#sessionOf = sessionReader(sources, hash);
  }

  homeOf(endpoints: readonly Endpoint[], context: SchedulingContext): Endpoint | undefined {
    const { request, now } = context;
    const session = this.#sessionOf(request, context);
    if (session === undefined) return undefined;
    const bound = this.#homes.boundTo(session, endpoints, now);
    if (bound !== undefined) this.#met.add(request);
    return bound ?? this.#homes.withFewest(endpoints);
  }

  bind(
    request: InferenceRequest,
    endpoint: Endpoint,
    at: Millis,
    context?: SchedulingContext,
  ): void {
    const session = this.#sessionOf(request, context);
    if (session === undefined) return;
    this.#homes.bind(session, endpoint, { at, stays: this.#met.has(request) });
  }

  removed(id: EndpointId): void {
    this.#homes.removed(id);
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
