import { type Fields, without } from './fields.ts';
import type { OlderNotes } from './older-notes.ts';

/** The strategy by which sessions have ids, while the reference's newest release was made. */
const OLDER_STRATEGY = 'session_id_header';
const TYPES: ReadonlySet<string> = new Set(['session-affinity-filter', 'session-affinity-scorer']);
/** What carried the id, unless `headerName` named another header. */
const HEADER = 'x-session-token';
/** A plugin, and the attribute of requests that it provides. */
export const AGENTS = 'agent-identity';
const TIMES = ['evictionTtlSeconds', 'evictionSweepSeconds'] as const;

/**
 * Parameters of a session affinity whose sessions have their id in one header, as the newest release
 * writes them. Where agents are identified, their id counts for requests without that header.
 */
export function withSessionSources(
  type: string,
  parameters: Fields,
  hasAgents: boolean,
  notes: OlderNotes,
  at: string,
): Fields {
  const isOlder = TYPES.has(type) && parameters['strategy'] === OLDER_STRATEGY;
  if (!isOlder || parameters['sessionIdConfig'] !== undefined) return parameters;
  const header = parameters['headerName'] || HEADER;
  const sources = [{ header }, ...(hasAgents ? [{ attribute: AGENTS }] : [])];
  const times = TIMES.filter((name) => parameters[name] !== undefined);
  const given = Object.fromEntries(times.map((name) => [name, parameters[name]]));
  notes.works(`${at}.strategy`, 'strategy: session_id, with the header in sessionIdConfig.sources');
  for (const name of times) notes.works(`${at}.${name}`, `it in sessionIdConfig`);
  return {
    ...without(parameters, 'headerName', ...TIMES),
    strategy: 'session_id',
    sessionIdConfig: { sources, ...given },
  };
}
