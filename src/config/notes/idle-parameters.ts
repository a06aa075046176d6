import { HASHED_BLOCK_TOKENS } from '../../framework/request.ts';
import type { ConfigNote, NoteReason } from '../../picker/plan/config-note.ts';
import { isGiven, parameterAt, parametersAt } from './parameter-at.ts';

type Rule = readonly [reason: NoteReason, why: string];

const ONE_LEDGER: Rule = ['own-way', 'the picker counts what is in flight in one place'];
const OWN_MODEL: Rule = ['own-way', 'latencies are predicted by the model that the picker learns'];
const OWN_INDEX: Rule = ['own-way', 'the index is built in, in memory'];
const ALWAYS_SHOWN: Rule = ['own-way', 'the page of metrics always shows the index'];
const NO_HOLDERS: Rule = ['own-way', 'a block may have any number of holders'];
const NEVER_USED: Rule = ['obsolete', 'the reference does not use it; leave it out'];
const NO_SWEEP: Rule = ['own-way', 'what is too old is dropped when it is met'];
const ENGINE_HASHES: Rule = ['own-way', 'blocks are named by the engine’s own hashes'];
const LINES_NEEDED: Rule = ['own-way', 'only the lines of a page that a plugin needs are read'];
const LEAST: Rule = ['obsolete', 'there are least and most, and another text is least'];
const PODS_OF_POOL: Rule = ['own-way', 'the pods are those of the pool'];
const ALIKE: Rule = ['not-built', 'tokens of media and of text count alike'];
const OWN_SPEED: Rule = ['not-built', 'write the measured speed as peakPrefillThroughput'];
const ANY_PRODUCER: Rule = ['own-way', 'attributes are found by their names alone'];

const TOKENS_BOUND: Rule = [
  'replaced',
  'maxPrefixTokensToMatch, 131072 by default, is in force; set that to 0 to count blocks',
];
const APPROXIMATE: ReadonlySet<string> = new Set([
  'approx-prefix-cache-producer',
  'multicluster-approx-prefix-cache-producer',
]);

const NEXT_SERVER: Rule = ['own-way', 'each prompt is sent to the next server of the pool'];
const NEVER_NEEDED: Rule = ['own-way', 'a page may lack any series'];
/**
 * Rules for the parameters of an extractor, which stands alone, or among the parameters of its
 * source.
 */
const engines = (at: string): Readonly<Record<string, Rule>> => ({
  [`${at}engineConfigs[].customMetrics[].optional`]: NEVER_NEEDED,
});

const sessionAffinity: Readonly<Record<string, Rule>> = {
  'sessionIdConfig.evictionSweepSeconds': NO_SWEEP,
};
const precise: Readonly<Record<string, Rule>> = {
  'tokenProcessorConfig.hashAlgorithm': ENGINE_HASHES,
  'tokenProcessorConfig.hashSeed': ENGINE_HASHES,
  'kvEventsConfig.engineType': ['own-way', 'the layout of an event shows its engine'],
  'kvEventsConfig.tracing': ['own-way', 'events have no spans'],
  'kvEventsConfig.podDiscoveryConfig.podLabelSelector': PODS_OF_POOL,
  'kvEventsConfig.podDiscoveryConfig.podNamespace': PODS_OF_POOL,
  'kvEventsConfig.concurrency': ['own-way', 'one process reads all events'],
  'indexerConfig.kvBlockIndexConfig.costAwareMemoryConfig': OWN_INDEX,
  'indexerConfig.kvBlockIndexConfig.enableMetrics': ALWAYS_SHOWN,
  'indexerConfig.kvBlockIndexConfig.inMemoryConfig.podCacheSize': NO_HOLDERS,
  'indexerConfig.kvBlockIndexConfig.metricsLoggingInterval': ALWAYS_SHOWN,
  'indexerConfig.kvBlockIndexConfig.redisConfig': OWN_INDEX,
};
const tokens: Readonly<Record<string, Rule>> = {
  backend: ['obsolete', 'vllm chooses the tokenizer by being there; leave it out'],
  modelName: ['own-way', 'the server that is asked knows its model'],
  udsTokenizerConfig: ['obsolete', 'its tokenizer is gone; give vllm.url'],
  // `vllm.endpointDiscovery` has an effect by being there: servers of the pool are asked. Its
  // fields have none.
  'vllm.endpointDiscovery.portRules': NEXT_SERVER,
  'vllm.endpointDiscovery.loadBalancer': NEXT_SERVER,
  'vllm.endpointDiscovery.attemptTimeout': NEXT_SERVER,
  'vllm.endpointDiscovery.discoverModelLimits': NEXT_SERVER,
  'vllm.endpointDiscovery.minModelLen': NEXT_SERVER,
  'vllm.endpointDiscovery.contextLimitLabel': NEXT_SERVER,
  'vllm.prefillOnly': ['own-way', 'only what says the prompt is sent'],
  'vllm.mmTimeout': ['own-way', 'vllm.timeout counts for every request'],
};

/** By type and path, the parameters that are read and have no effect. */
const IDLE: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  'active-request-scorer': {
    requestTimeout: NEVER_USED,
    inFlightLoadProducerName: ONE_LEDGER,
  },
  'core-metrics-extractor': engines(''),
  'concurrency-detector': { inFlightLoadProducerName: ONE_LEDGER },
  'endpoint-attribute-filter': { producer: ANY_PRODUCER },
  'endpoint-attribute-scorer': { producer: ANY_PRODUCER },
  'latency-observation-scorer-hub': { inFlightLoadProducerName: ONE_LEDGER },
  'latency-observer-producer-hub': { inFlightLoadProducerName: ONE_LEDGER },
  'lmetric-scorer': { inFlightLoadProducerName: ONE_LEDGER },
  'latency-scorer': {
    compositeKVWeight: OWN_MODEL,
    compositeQueueWeight: OWN_MODEL,
    compositePrefixWeight: OWN_MODEL,
    latencyPredictionInfoProducerName: OWN_MODEL,
    predictedLatencyProducerName: OWN_MODEL,
    prefixMatchInfoProducerName: OWN_MODEL,
  },
  'disaggregatedset-rollout-screener': {
    'revisionGating.disableCoordination': ['own-way', 'each picker chooses revisions by itself'],
  },
  'latency-slo-admitter': { latencyPredictionInfoProducerName: OWN_MODEL },
  'metrics-data-source': { families: LINES_NEEDED, ...engines('extractors[].') },
  'multicluster-metrics-data-source': { families: LINES_NEEDED },
  'multicluster-session-affinity-filter': sessionAffinity,
  'no-hit-lru-scorer': {
    prefixPluginType: NEVER_USED,
    prefixPluginName: NEVER_USED,
  },
  'pd-profile-handler': {
    prefixPluginType: NEVER_USED,
    prefixPluginName: NEVER_USED,
    hashBlockSize: NEVER_USED,
    prefixMatchInfoProducerName: ['own-way', 'the decider names the producer that it reads'],
  },
  'precise-prefix-cache-producer': precise,
  'precise-prefix-cache-scorer': precise,
  'prefix-cache-affinity-filter': {
    inFlightLoadProducerName: ONE_LEDGER,
    latencyPredictionInfoProducerName: OWN_MODEL,
    prefillCalibrationFile: OWN_SPEED,
    prefillCalibrationFingerprint: OWN_SPEED,
  },
  'session-affinity-filter': sessionAffinity,
  'session-affinity-scorer': sessionAffinity,
  'slo-headroom-tier-filter': {
    latencyPredictionInfoProducerName: OWN_MODEL,
    predictedLatencyProducerName: OWN_MODEL,
  },
  'token-load-scorer': { inFlightLoadProducerName: ONE_LEDGER, nonTextTokenWeight: ALIKE },
  'token-producer': tokens,
  tokenizer: tokens,
  'utilization-detector': { inFlightLoadProducerName: ONE_LEDGER },
  'utilization-filter': { inFlightLoadProducerName: ONE_LEDGER },
};

/** A note for each parameter that this plugin type reads without an effect. */
export function idleParameters(
  type: string,
  parameters: unknown,
  path: string,
): readonly ConfigNote[] {
  const rules = Object.entries(IDLE[type] ?? {});
  if (boundsBlocksInVain(type, parameters)) rules.push(['maxPrefixBlocksToMatch', TOKENS_BOUND]);
  if (isOtherStrategy(type, parameters)) rules.push(['headroomSelectionStrategy', LEAST]);
  const idle = rules.flatMap(([name, [reason, why]]) =>
    parametersAt(parameters, name)
      .filter(({ value }) => isGiven(value))
      .map(({ at }) => {
        const where = `${path}.${at}`;
        return { path: where, reason, text: `${where} has no effect: ${why}` };
      }),
  );
  return [...idle, ...roundedBlocks(type, parameters, path)];
}

/** Blocks bound the match only where tokens do not, as in the reference. */
function boundsBlocksInVain(type: string, parameters: unknown): boolean {
  if (!APPROXIMATE.has(type)) return false;
  const tokens = parameterAt(parameters, 'maxPrefixTokensToMatch');
  return tokens === undefined ? parameterAt(parameters, 'keepInFlight') !== true : tokens !== 0;
}

/** A note where the blocks of this producer have another size than it is given. */
function roundedBlocks(type: string, parameters: unknown, path: string): readonly ConfigNote[] {
  const isCounted = type === 'burst-prefix-cache-producer' || APPROXIMATE.has(type);
  const given = Number(parameterAt(parameters, 'blockSizeTokens') ?? 0);
  if (!isCounted || given % HASHED_BLOCK_TOKENS === 0) return [];
  const taken = Math.max(1, Math.floor(given / HASHED_BLOCK_TOKENS)) * HASHED_BLOCK_TOKENS;
  const where = `${path}.blockSizeTokens`;
  const text = `${where} is ${given}: blocks have ${taken} tokens, because they have a multiple of ${HASHED_BLOCK_TOKENS}`;
  return [{ path: where, reason: 'own-way', text }];
}

/** A text that is read as `least`. */
function isOtherStrategy(type: string, parameters: unknown): boolean {
  const strategy = parameterAt(parameters, 'headroomSelectionStrategy');
  return type === 'latency-scorer' && strategy !== 'least' && strategy !== 'most';
}
