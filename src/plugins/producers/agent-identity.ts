import { z } from 'zod';
import { AGENT_IDENTITY } from '../../framework/cycle-facts.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';

/** The headers in which agents name their sessions: Claude Code, OpenCode, Codex, older Codex. */
const SESSION_HEADERS: readonly string[] = [
  'x-claude-code-session-id',
  'x-session-affinity',
  'session-id',
  'session_id',
];

/**
 * Takes the id of an agent's session, from the first header that has one, as the fairness id of the
 * request, unless the client names a fairness id itself.
 */
export const agentIdentity: DataSourceDefinition = defineDataSource({
  type: 'agent-identity',
  config: z.lazy(() =>
    z.strictObject({
      /** Read before the known ones. */
      additionalSessionHeaders: z
        .array(z.string().toLowerCase())
        .default([])
        .transform((names) => names.filter((name) => name !== '')),
    }),
  ),
  headers: ({ additionalSessionHeaders }) =>
    [...additionalSessionHeaders, ...SESSION_HEADERS].map((name) => ({ name, as: 'id' })),
  provides: () => [AGENT_IDENTITY],
  start({ additionalSessionHeaders }) {
    const names = [...additionalSessionHeaders, ...SESSION_HEADERS];
    const sessionOf = (headers: ReadonlyMap<string, string>): string | undefined => {
      for (const name of names) {
        const session = headers.get(name)?.trim() ?? '';
        if (session !== '') return session;
      }
      return undefined;
    };
    return {
      fairnessId: sessionOf,
      facts: [
        { key: AGENT_IDENTITY, compute: (_endpoints, { request }) => sessionOf(request.headers) },
      ],
      stop: () => undefined,
    };
  },
});
