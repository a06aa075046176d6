import { z } from 'zod';
import type { EndpointId } from '../src/framework/endpoint.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/** Sessions remembered; the one unused for longest is forgotten first. About 10 MB. */
const SESSIONS_MAX = 100_000;

/** Prefers the endpoint that served this session last, whose cache still holds its history. */
export const sessionAffinity: ScorerDefinition = defineScorer({
  type: 'session-affinity-scorer',
  config: z.strictObject({
    strategy: z.literal('session_id').default('session_id'),
    sessionIdConfig: z
      .strictObject({
        sources: z
          .array(z.strictObject({ header: z.string().toLowerCase() }))
          .min(1)
          .default([{ header: 'x-session-id' }]),
      })
      .default({ sources: [{ header: 'x-session-id' }] }),
  }),
  create({ sessionIdConfig: { sources } }) {
    const homes = new Map<string, EndpointId>();
    const sessionOf = (headers: ReadonlyMap<string, string>): string | undefined => {
      for (const { header } of sources) {
        const session = headers.get(header);
        if (session !== undefined && session !== '') return session;
      }
      return undefined;
    };
    return {
      score(endpoints, { request }) {
        const session = sessionOf(request.headers);
        const home = session === undefined ? undefined : homes.get(session);
        return endpoints.map(({ id }) => (id === home ? 1 : 0));
      },
      onRouted({ request, endpoint }) {
        const session = sessionOf(request.headers);
        if (session === undefined) return;
        homes.delete(session);
        homes.set(session, endpoint.id);
        const oldest = homes.keys().next();
        if (homes.size > SESSIONS_MAX && !oldest.done) homes.delete(oldest.value);
      },
    };
  },
});
