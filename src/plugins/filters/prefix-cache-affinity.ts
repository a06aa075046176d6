import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import {
  DEFAULT_PREFIX_PRODUCER,
  IN_FLIGHT,
  type InFlightView,
  type PrefixMatch,
  prefixMatchKey,
} from '../../framework/keys.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { otherProducer, producerName } from '../parameters/producer-name.ts';

/** The reference's default, for one model on one accelerator. */
const PEAK_TOKENS_PER_SECOND = 15_928;

const config = z
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
    penaltySource: z.literal('constant').optional(),
    /** Both values mean the formula: the latency predictor is a service of another vendor. */
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
  );

type Config = z.infer<typeof config>;

/**
 * The reference's newest policy, sticky until saturated: keeps only endpoints that hold at least
 * `affinityThreshold` of the prompt, as long as the fastest of them would answer at most
 * `maxTTFTPenaltyMs` later than the fastest of the others, and has at most
 * `maxInFlightRequestsDelta` requests more. The time is tokens in flight over
 * `peakPrefillThroughput` (tokens a second).
 */
export const prefixCacheAffinityFilter: FilterDefinition = defineFilter({
  type: 'prefix-cache-affinity-filter',
  config,
  needs: ({ prefixMatchInfoProducerName }) => [
    IN_FLIGHT,
    prefixMatchKey(prefixMatchInfoProducerName),
  ],
  create: (parameters) => ({
    filter(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      const match = context.get(prefixMatchKey(parameters.prefixMatchInfoProducerName));
      if (match.totalBlocks === 0) return endpoints;
      const isSticky = (endpoint: Endpoint): boolean =>
        match.matchedBlocks(endpoint) / match.totalBlocks >= parameters.affinityThreshold;
      const sticky = endpoints.filter(isSticky);
      if (sticky.length === 0 || sticky.length === endpoints.length) return endpoints;
      if (context.random.next() < parameters.explorationProbability) return endpoints;
      const rest = endpoints.filter((endpoint) => !isSticky(endpoint));
      const isBusy =
        isTooSlow(parameters, inFlight, sticky, rest) ||
        hasTooMany(parameters, inFlight, sticky, rest, (endpoint) =>
          uncachedTokens(match, endpoint, context.request.promptTokens),
        );
      return isBusy ? endpoints : sticky;
    },
  }),
});

const least = (some: readonly Endpoint[], of: (endpoint: Endpoint) => number): number =>
  Math.min(...some.map(of));

const msOf = ({ peakPrefillThroughput }: Config, tokens: number): number =>
  (1000 * tokens) / (peakPrefillThroughput || PEAK_TOKENS_PER_SECOND);

function uncachedTokens(match: PrefixMatch, endpoint: Endpoint, promptTokens: number): number {
  return Math.max(0, promptTokens - match.matchedBlocks(endpoint) * match.blockTokens);
}

/** Whether the fastest of the sticky would answer too much later than the fastest of the rest. */
function isTooSlow(
  parameters: Config,
  inFlight: InFlightView,
  sticky: readonly Endpoint[],
  rest: readonly Endpoint[],
): boolean {
  const { maxTTFTPenaltyMs, maxTokensInFlightPenalty } = parameters;
  const penaltyMs =
    maxTokensInFlightPenalty === undefined
      ? maxTTFTPenaltyMs
      : msOf(parameters, maxTokensInFlightPenalty);
  const ttftMs = (endpoint: Endpoint): number =>
    msOf(parameters, inFlight.load(endpoint).pendingPrefillTokens);
  return penaltyMs > 0 && least(sticky, ttftMs) - least(rest, ttftMs) > penaltyMs;
}

/** Whether the sticky have too many more requests, and this one would not wait too long elsewhere. */
function hasTooMany(
  parameters: Config,
  inFlight: InFlightView,
  sticky: readonly Endpoint[],
  rest: readonly Endpoint[],
  uncached: (endpoint: Endpoint) => number,
): boolean {
  const { maxInFlightRequestsDelta, maxTTFTPenaltyMs } = parameters;
  if (maxInFlightRequestsDelta === 0) return false;
  const requests = (endpoint: Endpoint): number => inFlight.load(endpoint).requests;
  if (least(sticky, requests) - least(rest, requests) <= maxInFlightRequestsDelta) return false;
  const ttftMs = (endpoint: Endpoint): number =>
    msOf(parameters, inFlight.load(endpoint).pendingPrefillTokens + uncached(endpoint));
  return least(rest, ttftMs) - least(sticky, ttftMs) <= maxTTFTPenaltyMs;
}
