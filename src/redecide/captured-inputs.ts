import type { Endpoint, EndpointId, EndpointMetrics } from '../framework/endpoint.ts';
import {
  CACHE_CONFIG,
  type CacheConfig,
  CONTEXT_WINDOW,
  CUSTOM_METRICS,
  ENGINE_COUNT,
  GPU_UTILIZATION,
  LORA,
  MODELS,
  type ServedModel,
  STARTED_AT,
} from '../framework/endpoint-attributes.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { HeldSum, RouteOptions } from '../framework/routing.ts';
import type { Decision, ProfileResult } from '../framework/scheduling.ts';
import { promptOfRuns } from '../journal/capture/block-numbers.ts';
import type {
  CapturedDecision,
  CapturedPick,
  CapturedRequest,
  CapturedSample,
  DecidedRecord,
  EndpointRecord,
} from '../journal/capture/capture-record.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { Expectation } from '../picker/events/journal.ts';

/** In place of what waits at the picker that decides again. */
const NOTHING_HELD: readonly HeldSum[] = [];

/** Applies to a picker's pool the change that a record of a capture describes. */
export function applyEndpointRecord(
  { pool }: Pick<EndpointPicker, 'pool'>,
  record: EndpointRecord,
): void {
  const id = record.id as EndpointId;
  switch (record.e) {
    case '+':
      pool.upsert({ id, address: record.address, labels: mapOf(record.labels) });
      return;
    case '-':
      pool.remove(id);
      return;
    case 'labels':
      pool.upsert({ id, address: pool.get(id)?.address ?? '', labels: mapOf(record.labels) });
      return;
    case 'm':
      pool.observe(id, metricsOf(record.m));
      return;
    case 'cache':
      pool.set(id, CACHE_CONFIG, cacheConfigOf(record));
      return;
    case 'lora': {
      const { running, waiting, max } = record;
      pool.set(id, LORA, { running: new Set(running), waiting: new Set(waiting), max });
      return;
    }
    case 'started':
      pool.set(id, STARTED_AT, record.s);
      return;
    case 'custom':
      pool.set(id, CUSTOM_METRICS, mapOf(record.values));
      return;
    case 'models':
      pool.set(id, MODELS, modelsOf(record.models));
      return;
    case 'gpu':
      pool.set(id, GPU_UTILIZATION, record.u);
      return;
    case 'engines':
      pool.set(id, ENGINE_COUNT, record.n);
      return;
    case 'window':
      pool.set(id, CONTEXT_WINDOW, record.tokens);
  }
}

export function metricsOf([
  waitingQueueSize,
  runningRequests,
  kvCacheUsage,
  sampledAt,
]: CapturedSample): EndpointMetrics {
  return { waitingQueueSize, runningRequests, kvCacheUsage, sampledAt };
}

function mapOf<Value>(values: Readonly<Record<string, Value>>): ReadonlyMap<string, Value> {
  return new Map(Object.entries(values));
}

function cacheConfigOf({
  blockTokens,
  blocks,
  matchTokens,
  keepsPrefixes,
}: CacheConfig): CacheConfig {
  const match = matchTokens !== undefined && { matchTokens };
  return { blockTokens, blocks, ...match, ...(keepsPrefixes === false && { keepsPrefixes }) };
}

function modelsOf(models: Readonly<Record<string, boolean>>): readonly ServedModel[] {
  return Object.entries(models).map(([id, isAdapter]) => ({ id, isAdapter }));
}

/** The captured request for a decision core: its blocks are equal where the original ones were. */
export function requestOf({
  blocks,
  blockTokens,
  rest: behind,
  others,
  fairness,
  headers = {},
  ...rest
}: CapturedRequest): InferenceRequest {
  return {
    ...rest,
    outputTokensMax: rest.outputTokensMax,
    objective: rest.objective,
    ttftSloMs: rest.ttftSloMs,
    tpotSloMs: rest.tpotSloMs,
    fairnessId: fairness,
    headers: mapOf(headers),
    prompt: promptOfRuns(blocks, blockTokens, behind, others),
  };
}

/** What the picker was asked with, and what waited there. */
export function optionsOf(record: DecidedRecord): RouteOptions {
  const { subset, firstTokenSeen, endSeen, held = NOTHING_HELD, crowdedOut } = record;
  return {
    subset,
    firstTokenVisible: firstTokenSeen,
    endVisible: endSeen,
    heldBefore: held,
    crowdedOut,
  };
}

/** What something else than profiles decided; undefined where its endpoint is not in the pool. */
export function takenDecision(
  { endpoint: id, prefill: prefillId, score, by = '' }: CapturedPick,
  endpoints: readonly Endpoint[],
): Decision | undefined {
  const endpoint = endpoints.find((each) => each.id === id);
  if (endpoint === undefined) return undefined;
  const primary: ProfileResult = { kind: 'picked', profile: by, targets: [{ endpoint, score }] };
  const prefill = endpoints.find((each) => each.id === prefillId);
  return { primary, profiles: [primary], headers: new Map(), decidedBy: by, prefill };
}

/** What a challenger expected of what it decided; undefined where the core in charge decided. */
export function capturedExpectation({ expected }: DecidedRecord): Expectation | undefined {
  if (expected === undefined) return undefined;
  const [cachedTokens, prefillCachedTokens, output] = expected;
  return { cachedTokens, prefillCachedTokens, estimatedOutputTokens: output ?? undefined };
}

/** The decision with the endpoints that were really chosen, where they are still in the pool. */
export function applyRecordedDecision(
  own: Decision,
  endpoints: readonly Endpoint[],
  was: CapturedDecision,
): Decision {
  if ('error' in was) return own;
  const endpoint = endpoints.find(({ id }) => id === was.endpoint);
  if (endpoint === undefined) return own;
  const { profile } = own.primary;
  const targets = [{ endpoint, score: was.score }];
  const prefill = endpoints.find(({ id }) => id === was.prefill);
  return { ...own, primary: { kind: 'picked', profile, targets }, prefill };
}
