import type { Registry } from 'prom-client';
import type { Endpoint } from '../../../framework/endpoint.ts';
import type { Routed } from '../../../framework/observer.ts';
import { endpointLabels, type MetricSample, showMetric } from '../page/family.ts';
import { createNameCap } from '../page/name-cap.ts';

/** A request that has not ended, as its gauges need it. */
interface InFlightRequest {
  readonly routed: Routed;
  /** The address that serves it, where that is not the pick's. */
  readonly servedBy: string | undefined;
  readonly firstTokenAt: number | undefined;
}

interface Count {
  readonly labels: Readonly<Record<string, string>>;
  requests: number;
  tokens: number;
}

/** The name that the reference's plugin for this has by default. */
const PRODUCER = 'inflight-load-producer';
/** It shows as many fairness ids as other metrics do; the rest are `other`. */
const FAIRNESS_IDS_MAX = 1000;

/**
 * Gauges of requests in flight by endpoint, fairness id and priority. They are counted for each
 * page: so requests pay nothing for them.
 */
export function registerInFlight(
  registry: Registry,
  open: () => Iterable<InFlightRequest>,
  snapshot: () => readonly Endpoint[],
): void {
  const gauge = (name: string, help: string, read: (count: Count) => number): void =>
    showMetric(
      registry,
      { name: `llm_d_epp_inflight_${name}`, help: `[ALPHA] ${help}`, type: 'gauge' },
      () => samplesOf(countsOf(open(), snapshot()), read),
    );
  gauge('requests', 'Requests sent to an endpoint and not yet ended.', (each) => each.requests);
  const tokens =
    'Uncached prompt tokens sent to an endpoint that wait for their first output token; with addEstimatedOutputTokens, these and the expected output until the end.';
  gauge('tokens', tokens, (each) => each.tokens);
}

function countsOf(
  open: Iterable<InFlightRequest>,
  endpoints: readonly Endpoint[],
): Iterable<Count> {
  const byAddress = new Map(endpoints.map((endpoint) => [endpoint.address, endpoint]));
  const counts = new Map<string, Count>();
  const fairnessIds = createNameCap(FAIRNESS_IDS_MAX);
  // An idle endpoint has a line, too: its sum is 0 and not unknown.
  for (const { id } of endpoints)
    countOf(counts, id, { fairness_id: 'default-flow', priority: '0' });
  for (const { routed, servedBy, firstTokenAt } of open) {
    const { request, endpoint: picked, cachedTokens, prefill, prefillCachedTokens = 0 } = routed;
    // Ranks of one server have one address.
    const stayed = servedBy === undefined || servedBy === picked.address;
    const { id } = (stayed ? undefined : byAddress.get(servedBy)) ?? picked;
    const fairness_id = fairnessIds.admit(request.fairnessId);
    const labels = { fairness_id, priority: String(request.priority) };
    const count = countOf(counts, id, labels);
    count.requests += 1;
    const { estimatedOutputTokens: output } = routed;
    const uncached = Math.max(0, request.promptTokens - cachedTokens);
    if (output !== undefined) count.tokens += output + uncached;
    if (firstTokenAt !== undefined) continue;
    if (output === undefined) count.tokens += uncached;
    if (prefill === undefined) continue;
    // Its prompt is computed there until the first token.
    const computed = countOf(counts, prefill.id, labels);
    computed.requests += 1;
    computed.tokens += Math.max(0, request.promptTokens - prefillCachedTokens);
  }
  return counts.values();
}

function countOf(
  counts: Map<string, Count>,
  id: Endpoint['id'],
  labels: { readonly fairness_id: string; readonly priority: string },
): Count {
  const key = `${id}\n${labels.priority}\n${labels.fairness_id}`;
  const found = counts.get(key);
  if (found !== undefined) return found;
  const all = { ...endpointLabels(id), ...labels, producer_name: PRODUCER };
  const made: Count = { labels: all, requests: 0, tokens: 0 };
  counts.set(key, made);
  return made;
}

function samplesOf(
  counts: Iterable<Count>,
  read: (count: Count) => number,
): readonly MetricSample[] {
  return [...counts].map((count) => ({ labels: count.labels, value: read(count) }));
}
