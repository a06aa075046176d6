import { z } from 'zod';
import { ttftOn } from '../../cost-model/slo-headroom.ts';
import {
  countedTokens,
  DEFAULT_PREFIX_PRODUCER,
  ENGINE_MODEL,
  IN_FLIGHT,
  type PrefixMatch,
  prefixMatchKey,
} from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';
import { otherProducer, producerName } from '../parameters/producer-name.ts';

export const PREFIX_AFFINITY_FILTER = 'prefix-cache-affinity-filter';
/** The reference's default, for one model on one accelerator. */
const PEAK_TOKENS_PER_SECOND = 15_928;

/** The parameters that have an effect. */
export interface AffinityConfig {
  readonly affinityThreshold: number;
  readonly explorationProbability: number;
  readonly maxTTFTPenaltyMs: number;
  readonly maxTokensInFlightPenalty?: number | undefined;
  readonly maxInFlightRequestsDelta: number;
  readonly ttftSource: 'prefillThroughput' | 'latencyPredictor';
  readonly peakPrefillThroughput: number;
  readonly prefixMatchInfoProducerName: string;
}

const config = z.lazy(() =>
  z
    .strictObject({
      affinityThreshold: z.number().max(1).default(0.8),
      explorationProbability: z.number().min(0).max(1).default(0),
      /** 0 keeps to the sticky endpoints however slow they are. */
      maxTTFTPenaltyMs: z.number().nonnegative().default(18_000),
      /** The older form of the same bound, in tokens in flight; it counts where it is given. */
      maxTokensInFlightPenalty: z.number().nonnegative().optional(),
      /** So many more requests in flight than elsewhere are too many; 0 is no bound. */
      maxInFlightRequestsDelta: z.int().nonnegative().default(0),
      /** The one penalty that there is here, under the name of a later release. */
      penaltySource: z
        .literal('constant', 'has one penalty here: leave it out, or write constant')
        .optional(),
      /** The latency predictor is the model of engines that the picker itself learns. */
      ttftSource: z.enum(['prefillThroughput', 'latencyPredictor']).default('prefillThroughput'),
      /** In tokens a second. */
      peakPrefillThroughput: z.number().nonnegative().default(PEAK_TOKENS_PER_SECOND),
      /** The reference reads a measured speed from this file: read, without effect. */
      prefillCalibrationFile: z.string().optional(),
      prefillCalibrationFingerprint: z.string().optional(),
      prefillCalibrationRequired: z
        .literal(false, 'is not built here; write the measured speed as peakPrefillThroughput')
        .optional(),
      prefixMatchInfoProducerName: producerName(DEFAULT_PREFIX_PRODUCER),
      inFlightLoadProducerName: otherProducer,
      latencyPredictionInfoProducerName: otherProducer,
    })
    .refine((given) => given.maxInFlightRequestsDelta === 0 || given.maxTTFTPenaltyMs > 0, {
      path: ['maxTTFTPenaltyMs'],
      message: 'must be above 0 where maxInFlightRequestsDelta is',
    })
    .refine(
      (given) =>
        given.peakPrefillThroughput > 0 ||
        given.maxTTFTPenaltyMs === 0 ||
        given.ttftSource === 'latencyPredictor',
      { path: ['peakPrefillThroughput'], message: 'must be above 0' },
    ),
);

/**
 * The reference's newest policy, sticky until saturated: keeps only endpoints that hold at least
 * `affinityThreshold` of the prompt, as long as the fastest of them would answer at most
 * `maxTTFTPenaltyMs` later than the fastest of the others, and has at most
 * `maxInFlightRequestsDelta` requests more. The time is tokens in flight over
 * `peakPrefillThroughput` (tokens a second), or what the picker's model of the engine expects.
 */
export const prefixCacheAffinityFilter: FilterDefinition = defineFilter({
  type: PREFIX_AFFINITY_FILTER,
  config,
  needs: ({ prefixMatchInfoProducerName, ttftSource }) => [
    IN_FLIGHT,
    prefixMatchKey(prefixMatchInfoProducerName),
    ...(ttftSource === 'latencyPredictor' ? [ENGINE_MODEL] : []),
  ],
  create: (parameters) => ({
    filter(endpoints, context) {
      const parts = partsOf(parameters, endpoints, context);
      if (parts.sticky.length === 0 || parts.rest.length === 0) return endpoints;
      if (context.random.next() < parameters.explorationProbability) return endpoints;
      return isBusy(parameters, parts, context) ? endpoints : parts.sticky;
    },
  }),
});

/** What the filter decided about one request, under the reference's names. */
export type AffinityOutcome =
  | 'sticky'
  | 'no_match'
  | 'load_override'
  | 'exploration'
  | 'not_applicable';

/** Why the filter has kept `kept` of `endpoints`, while the context says what it said then. */
export function affinityOutcome(
  parameters: AffinityConfig,
  { endpoints, kept }: Readonly<Record<'endpoints' | 'kept', readonly Endpoint[]>>,
  context: SchedulingContext,
): AffinityOutcome {
  if (endpoints.length <= 1 || parameters.affinityThreshold <= 0) return 'not_applicable';
  const parts = partsOf(parameters, endpoints, context);
  if (parts.sticky.length === 0) return 'no_match';
  if (kept.length === parts.sticky.length) return 'sticky';
  return isBusy(parameters, parts, context) ? 'load_override' : 'exploration';
}

interface Parts {
  /** The endpoints that hold enough of the prompt. */
  readonly sticky: readonly Endpoint[];
  readonly rest: readonly Endpoint[];
  readonly match: PrefixMatch;
}

function partsOf(
  { affinityThreshold, prefixMatchInfoProducerName }: AffinityConfig,
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
): Parts {
  const match = context.get(prefixMatchKey(prefixMatchInfoProducerName));
  if (match.totalBlocks === 0) return { sticky: [], rest: endpoints, match };
  const sticky: Endpoint[] = [];
  const rest: Endpoint[] = [];
  for (const endpoint of endpoints) {
    const share = match.matchedBlocks(endpoint) / match.totalBlocks;
    (share >= affinityThreshold ? sticky : rest).push(endpoint);
  }
  return { sticky, rest, match };
}

/** Whether the sticky endpoints have so much to do that the others may serve the request, too. */
function isBusy(parameters: AffinityConfig, parts: Parts, context: SchedulingContext): boolean {
  return isTooSlow(parameters, parts, context) || hasTooMany(parameters, parts, context);
}

const least = (some: readonly Endpoint[], of: (endpoint: Endpoint) => number): number =>
  Math.min(...some.map(of));

const msOf = ({ peakPrefillThroughput }: AffinityConfig, tokens: number): number =>
  (1000 * tokens) / (peakPrefillThroughput || PEAK_TOKENS_PER_SECOND);

/** Whether the fastest of the sticky would answer too much later than the fastest of the rest. */
function isTooSlow(
  parameters: AffinityConfig,
  { sticky, rest, match }: Parts,
  context: SchedulingContext,
): boolean {
  const { maxTTFTPenaltyMs, maxTokensInFlightPenalty, ttftSource } = parameters;
  const penaltyMs =
    maxTokensInFlightPenalty === undefined
      ? maxTTFTPenaltyMs
      : msOf(parameters, maxTokensInFlightPenalty);
  const inFlight = context.get(IN_FLIGHT);
  // A penalty in tokens compares tokens.
  const predicts = ttftSource === 'latencyPredictor' && maxTokensInFlightPenalty === undefined;
  const ttftMs = (endpoint: Endpoint): number =>
    predicts
      ? ttftOn(endpoint, context, match)
      : msOf(parameters, countedTokens(inFlight.load(endpoint)));
  return penaltyMs > 0 && least(sticky, ttftMs) - least(rest, ttftMs) > penaltyMs;
}

/**
 * Whether the sticky have too many more requests, and this one would not wait too long elsewhere.
 */
function hasTooMany(
  parameters: AffinityConfig,
  { sticky, rest, match }: Parts,
  context: SchedulingContext,
): boolean {
  const { maxInFlightRequestsDelta, maxTTFTPenaltyMs, ttftSource } = parameters;
  if (maxInFlightRequestsDelta === 0) return false;
  const inFlight = context.get(IN_FLIGHT);
  const requests = (endpoint: Endpoint): number => inFlight.load(endpoint).requests;
  if (least(sticky, requests) - least(rest, requests) <= maxInFlightRequestsDelta) return false;
  const { promptTokens } = context.request;
  const uncached = (endpoint: Endpoint): number =>
    Math.max(0, promptTokens - match.matchedBlocks(endpoint) * match.blockTokens);
  const ttftMs = (endpoint: Endpoint): number =>
    ttftSource === 'latencyPredictor'
      ? ttftOn(endpoint, context, match)
      : msOf(parameters, countedTokens(inFlight.load(endpoint)) + uncached(endpoint));
  return least(rest, ttftMs) - least(sticky, ttftMs) <= maxTTFTPenaltyMs;
}
