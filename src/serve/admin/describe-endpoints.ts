import type { FollowedName } from '../../endpoints/discovery/names/follow-name.ts';
import { describeEvents } from '../../endpoints/kv-events/event-report.ts';
import { type ScrapeState, scrapeErrorsOf } from '../../endpoints/scraping/scrape-errors.ts';
import { type Endpoint, isFresh } from '../../framework/endpoint.ts';
import {
  CACHE_CONFIG,
  CONTEXT_WINDOW,
  CUSTOM_METRICS,
  ENGINE_COUNT,
  GPU_UTILIZATION,
  LORA,
  MODELS,
  type ServedModel,
  STARTED_AT,
} from '../../framework/endpoint-attributes.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { LastRefusals } from '../../journal/explain/last-refusals.ts';
import { type AnswersAt, type LatestAnswers, NONE } from '../../journal/explain/latest-answers.ts';
import { prefixIndexes } from '../../journal/metrics/metrics.ts';
import type { Ejected } from '../../picker/ejection/ejection-plan.ts';
import { EJECTION_WORDS } from '../../picker/ejection/ejection-words.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import { isoTime } from '../../runtime/clock/iso-time.ts';

/** Names of each kind at each endpoint. Servers may have thousands of adapters. */
const MODEL_NAMES_MAX = 100;
/** As long as what became of requests is counted. */
const RECENT_MS = 300_000;

export interface DescribedParts {
  readonly picker: EndpointPicker;
  readonly server: { sessions(): number };
  readonly discovery: { readonly names: { names(): readonly FollowedName[] } } | undefined;
  /** How the latest requests ended; left out where decisions are not kept. */
  readonly recorder?:
    | { readonly answers: LatestAnswers; readonly refusals: LastRefusals }
    | undefined;
  /** Left out where nothing counts. */
  readonly live?: { pickedIn(ms: Millis): number };
}

/** The pool as JSON for people: each endpoint with its last report and what is in flight there. */
export function describeEndpoints(parts: DescribedParts, now: number): unknown {
  const { picker, server, discovery, recorder } = parts;
  const indexes = prefixIndexes(picker.observers());
  const latest = recorder?.answers.byAddress(now);
  return {
    sessions: server.sessions(),
    hostNames: (discovery?.names.names() ?? []).map((name) => ({
      ...name,
      since: isoTime(name.since),
    })),
    whyEmpty: picker.pool.whyEmpty,
    latest: describeRequests(parts),
    endpoints: picker.pool.snapshot().map((endpoint) => ({
      ...describeEndpoint(endpoint, picker, now),
      latest: latest && describeLatest(latest.get(endpoint.address) ?? NONE, picker.clock),
      prefixIndexBlocks: Object.fromEntries(
        indexes.map((index) => [index.name, index.size(endpoint)]),
      ),
    })),
  };
}

/** One endpoint. JSON leaves out what is undefined. */
function describeEndpoint(endpoint: Endpoint, picker: EndpointPicker, now: number): object {
  const { id, address, labels, metrics } = endpoint;
  const { sampledAt, ...values } = metrics;
  const lora = endpoint.attribute(LORA);
  const custom = endpoint.attribute(CUSTOM_METRICS);
  return {
    id,
    address,
    labels: Object.fromEntries(labels),
    fresh: isFresh(endpoint, now),
    // JSON has no infinity: an endpoint that was never scraped has no age.
    metricsAgeMs: Number.isFinite(sampledAt) ? Math.round(now - sampledAt) : undefined,
    metrics: Number.isFinite(sampledAt) ? values : undefined,
    ejected: describeEjection(picker.ejector.ejected(endpoint), picker.clock),
    scrapes: describeScrapes(scrapeErrorsOf(picker.pool).stateOf(id)),
    startedAt: startOf(endpoint),
    engines: endpoint.attribute(ENGINE_COUNT),
    contextWindowTokens: endpoint.attribute(CONTEXT_WINDOW),
    models: describeModels(endpoint.attribute(MODELS)),
    cache: endpoint.attribute(CACHE_CONFIG),
    customMetrics: custom.size === 0 ? undefined : Object.fromEntries(custom),
    gpuUtilization: endpoint.attribute(GPU_UTILIZATION),
    kvEvents: describeEvents(picker.observers(), endpoint),
    lora: lora && { running: [...lora.running], waiting: [...lora.waiting], max: lora.max },
    inFlight: { ...picker.ledger.load(endpoint) },
    lostRequests: picker.ledger.lost(endpoint) || undefined,
  };
}

/** How many requests were decided in the last five minutes, and how many were refused, and why. */
function describeRequests({ picker, recorder, live }: DescribedParts): object | undefined {
  if (recorder === undefined || live === undefined) return undefined;
  const since = picker.clock.wallTime() - RECENT_MS;
  return {
    decided: live.pickedIn(RECENT_MS),
    refused: Object.fromEntries(recorder.refusals.countsSince(since)),
  };
}

function describeLatest({ lastFailedAt, ...counts }: AnswersAt, clock: Clock): object {
  if (lastFailedAt === undefined) return counts;
  return { ...counts, lastFailed: isoTime(clock.wallTime() + lastFailedAt - clock.now()) };
}

/** When the process of the model server began, where its metrics say so. */
function startOf(endpoint: Endpoint): string | undefined {
  const seconds = endpoint.attribute(STARTED_AT);
  return seconds === undefined ? undefined : isoTime(1000 * seconds);
}

/** What the server lists, and how many of each kind; undefined until it has answered. */
function describeModels(models: readonly ServedModel[] | undefined): unknown {
  if (models === undefined) return undefined;
  const namesOf = (kind: readonly ServedModel[]): readonly string[] => kind.map(({ id }) => id);
  const base = namesOf(models.filter(({ isAdapter }) => !isAdapter));
  const adapters = namesOf(models.filter(({ isAdapter }) => isAdapter));
  return {
    baseCount: base.length,
    base: base.slice(0, MODEL_NAMES_MAX),
    adapterCount: adapters.length,
    adapters: adapters.slice(0, MODEL_NAMES_MAX),
  };
}

/** Why and since when requests are kept away; false where they are not. */
function describeEjection(ejected: Ejected | undefined, clock: Clock): unknown {
  if (ejected === undefined) return false;
  const wallMs = (at: number): string => isoTime(clock.wallTime() + at - clock.now());
  const { reason, since, until } = ejected;
  return { reason, why: EJECTION_WORDS[reason], since: wallMs(since), triedAt: wallMs(until) };
}

/** How the scrapes of an endpoint go, since when, and the last error there was. */
function describeScrapes(state: ScrapeState | undefined): unknown {
  if (state === undefined) return { state: 'not ended' };
  const { error, since, lastError } = state;
  return {
    state: error === undefined ? 'working' : 'failing',
    since: isoTime(since),
    lastError: lastError && {
      failure: lastError.failure,
      reason: lastError.reason,
      inSuccession: lastError.inSuccession,
      at: isoTime(lastError.at),
    },
  };
}
