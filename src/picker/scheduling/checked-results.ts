import type { Endpoint } from '../../framework/endpoint.ts';
import type { Decision, ProfileResult, ScoredEndpoint } from '../../framework/scheduling.ts';

/** Why the result of a filter cannot be used; undefined for some of the endpoints, each once. */
export function faultOfFiltered(
  left: readonly Endpoint[],
  endpoints: readonly Endpoint[],
): string | undefined {
  if (left === endpoints) return undefined;
  if (!Array.isArray(left)) return 'it returned no array';
  // A filter keeps the order, so that one pass is enough; without the order, a set has to do.
  let at = 0;
  for (const endpoint of endpoints) if (at < left.length && left[at] === endpoint) at += 1;
  if (at === left.length) return undefined;
  const known = new Set(endpoints);
  const fits = left.every((endpoint) => known.delete(endpoint));
  return fits ? undefined : 'it returned an endpoint that it was not given, or one twice';
}

/** Why the scores of a scorer cannot be used; undefined for a finite score for each endpoint. */
export function faultOfScores(given: readonly number[], endpoints: number): string | undefined {
  if (given?.length !== endpoints) return faultOfLength(given, endpoints);
  for (const score of given) {
    if (!Number.isFinite(score)) return `it gave ${String(score)}, which is no score`;
  }
  return undefined;
}

/** Plugins from outside may return what their type does not allow. */
function faultOfLength(given: unknown, endpoints: number): string {
  const { length, then: isPromise } = (given ?? {}) as { length?: number; then?: unknown };
  if (length !== undefined) return `it gave ${length} scores for ${endpoints} endpoints`;
  return isPromise === undefined
    ? 'it returned no array of scores'
    : 'it returned a promise, but a decision does not wait: learn in an observer what takes time';
}

/** A pseudo-header such as `:path`, too. */
const HEADER_NAME = /^:?[a-z0-9!#$%&'*+.^_`|~-]+$/i;
/**
 * Tabs, and all but control characters: these end a header, or make proxies refuse the answer.
 */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u;

/** Why headers that a plugin gave cannot be sent. */
export function faultOfHeaders(headers: Iterable<readonly [string, string]>): string | undefined {
  for (const [name, value] of headers) {
    if (typeof name !== 'string' || !HEADER_NAME.test(name)) {
      return `it gave a header whose name is no token: ${JSON.stringify(name)}`;
    }
    if (typeof value !== 'string') return `it gave ${typeof value} as the header ${name}, not text`;
    if (!HEADER_VALUE.test(value)) return `it gave control characters in the header ${name}`;
  }
  return undefined;
}

/** A score below 0 counts as 0, and one above 1 as 1. */
export function clampedScore(score: number): number {
  return score < 0 ? 0 : score > 1 ? 1 : score;
}

/** Why the result of a picker cannot be used; undefined for one or more of the candidates. */
export function faultOfPicked(
  targets: readonly ScoredEndpoint[],
  candidates: readonly Endpoint[],
): string | undefined {
  if (!Array.isArray(targets)) return 'it returned no array';
  if (targets.length === 0) return 'it picked none of the candidates';
  const fits = targets.every(
    (target) => Number.isFinite(target?.score) && candidates.includes(target.endpoint),
  );
  return fits ? undefined : 'it picked an endpoint that is not among the candidates';
}

/** Why the conclusion of a profile handler cannot be used. */
export function faultOfDecision(
  decision: Decision,
  done: readonly ProfileResult[],
  endpoints: readonly Endpoint[],
): string | undefined {
  const { primary, prefill, encoders = [], headers, profiles } = decision;
  const known = (endpoint: Endpoint | undefined): boolean =>
    endpoint !== undefined && endpoints.includes(endpoint);
  if (!(headers instanceof Map) || !Array.isArray(profiles))
    return 'it gave no headers or profiles';
  const headerFault = faultOfHeaders(headers);
  if (headerFault !== undefined) return headerFault;
  if (prefill !== undefined && !known(prefill)) return 'its prefill endpoint is not a candidate';
  if (!encoders.every(known)) return 'one of its encoding endpoints is not a candidate';
  if (done.includes(primary)) return undefined;
  const fits =
    primary.kind === 'exhausted' ||
    (primary.targets.length > 0 && primary.targets.every(({ endpoint }) => known(endpoint)));
  return fits ? undefined : 'its endpoint is not a candidate';
}
