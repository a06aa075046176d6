import type { Endpoint } from '../../framework/endpoint.ts';
import { CONTEXT_WINDOW } from '../../framework/endpoint-attributes.ts';
import type {
  ReportedValue,
  ResponseHeaderPlugin,
  ResponseReporter,
  Usage,
} from '../../framework/observer.ts';
import type { Decision } from '../../framework/scheduling.ts';
import type { PluginFaults } from '../faults/plugin-faults.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import { faultOfHeaders } from '../scheduling/checked-results.ts';
import type { CachedCounts } from './cached-counts.ts';

/** The endpoint that answers, and its address as the proxy reports it. */
interface AnsweredBy {
  readonly endpoint: Endpoint;
  readonly reported: string | undefined;
}

const NO_HEADERS: ReadonlyMap<string, string> = new Map();
const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, cachedTokens: undefined };

/** More than the tokens of any context; sums of counts stay exact far beyond it. */
const COUNTED_TOKENS_MAX = 100_000_000;

/** The headers that plugins add to the answer. One that throws is reported, and adds none. */
export function addedHeaders(
  plugins: readonly ResponseHeaderPlugin[],
  decision: Decision,
  { endpoint, reported }: AnsweredBy,
  faults: PluginFaults,
): ReadonlyMap<string, string> {
  if (plugins.length === 0) return NO_HEADERS;
  const headers = new Map<string, string>();
  for (const plugin of plugins) {
    try {
      const added = [...(plugin.responseHeaders?.(endpoint, decision, reported) ?? [])];
      const fault = faultOfHeaders(added);
      if (fault !== undefined) faults.report(plugin, 'responseHeaders', new Error(fault));
      else for (const [name, value] of added) headers.set(name, value);
    } catch (error) {
      faults.report(plugin, 'responseHeaders', error);
    }
  }
  return headers;
}

/**
 * What plugins report of the answer to the proxy. One that throws is reported, and says nothing.
 */
export function reportedValues(
  reporters: readonly ResponseReporter[],
  usage: Usage | undefined,
  faults: PluginFaults,
): readonly ReportedValue[] {
  const credited = (usage && credible(usage)) ?? NO_USAGE;
  const values: ReportedValue[] = [];
  for (const reporter of reporters) {
    try {
      values.push(...(reporter.responseMetadata?.(credited) ?? []));
    } catch (error) {
      faults.report(reporter, 'responseMetadata', error);
    }
  }
  return values;
}

/** The usage that a server reports, unless one of its counts cannot be a number of tokens. */
function credible(usage: Usage): Usage | undefined {
  const { promptTokens, completionTokens, cachedTokens = 0 } = usage;
  const counts = (tokens: number): boolean => tokens >= 0 && tokens <= COUNTED_TOKENS_MAX;
  return counts(promptTokens) && counts(completionTokens) && counts(cachedTokens)
    ? usage
    : undefined;
}

/**
 * The usage that a server has reported, as far as it can be believed. An answer beyond what the
 * server is said to take shows that it takes more.
 */
export function countedUsage(
  usage: Usage | undefined,
  endpoint: Endpoint,
  { pool, cachedCounts }: { readonly pool: EndpointPool; readonly cachedCounts: CachedCounts },
): Usage | undefined {
  const reported = usage && credible(usage);
  if (reported === undefined) return undefined;
  const counted = cachedCounts.completed(endpoint, reported);
  const window = pool.get(endpoint.id)?.attribute(CONTEXT_WINDOW);
  if (window !== undefined && counted.promptTokens + counted.completionTokens > window)
    pool.set(endpoint.id, CONTEXT_WINDOW, undefined);
  return counted;
}
