import { z } from 'zod';
import type { EndpointId } from '../src/framework/endpoint.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import type { Millis } from '../src/framework/runtime.ts';

/** Sessions remembered; the one unused for longest is forgotten first. About 10 MB. */
const SESSIONS_MAX = 100_000;

const sessionIdConfig = z.strictObject({
  /** Headers that may carry the session's id; the first one present counts. */
  sources: z
    .array(z.strictObject({ header: z.string().min(1).toLowerCase() }))
    .min(1)
    .default([{ header: 'x-session-id' }]),
  evictionTtlSeconds: z.number().positive().default(300),
  /** Sessions are dropped as others are remembered, without a sweep; accepted for compatibility. */
  evictionSweepSeconds: z.number().positive().default(10),
});

interface Home {
  /** The endpoint's life, not its name: a successor of the same name has none of the session's history. */
  readonly life: object;
  readonly usedAt: Millis;
}

/**
 * Prefers the endpoint that served this session last, whose cache holds its newest history. Of the reference's two
 * strategies it has `session_id`; the one that writes a response header is not supported.
 */
export const sessionAffinity: ScorerDefinition = defineScorer({
  type: 'session-affinity-scorer',
  config: z.strictObject({
    strategy: z.literal('session_id').default('session_id'),
    sessionIdConfig: sessionIdConfig.default(sessionIdConfig.parse({})),
  }),
  create({ sessionIdConfig: { sources, evictionTtlSeconds } }) {
    /** In order of last use. */
    const homes = new Map<string, Home>();
    const lives = new Map<EndpointId, object>();
    const expired = ({ usedAt }: Home, now: Millis): boolean =>
      now - usedAt > evictionTtlSeconds * 1000;
    const sessionOf = (headers: ReadonlyMap<string, string>): string | undefined => {
      for (const { header } of sources) {
        const session = headers.get(header);
        if (session !== undefined && session !== '') return session;
      }
      return undefined;
    };
    return {
      score(endpoints, { request, now }) {
        const session = sessionOf(request.headers);
        const home = session === undefined ? undefined : homes.get(session);
        if (home === undefined || expired(home, now)) return endpoints.map(() => 0);
        return endpoints.map(({ id }) => (lives.get(id) === home.life ? 1 : 0));
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
  },
});
