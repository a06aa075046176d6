import type { ScorerDefinition } from '../src/framework/plugin.ts';
import { activeRequest } from './active-request.ts';
import { assignment } from './assignment.ts';
import { consistentHash } from './baselines/consistent-hash.ts';
import { dualMap } from './baselines/dual-map.ts';
import { dynamoCost } from './baselines/dynamo-cost.ts';
import { lmetric } from './baselines/lmetric.ts';
import { powerOfTwo } from './baselines/power-of-two.ts';
import { preble } from './baselines/preble.ts';
import { rendezvous } from './baselines/rendezvous.ts';
import { virtualTokens } from './baselines/virtual-tokens.ts';
import { contextLengthAware } from './context-length-aware.ts';
import { endpointAttribute } from './endpoint-attribute.ts';
import { endpointAttributeWeight } from './endpoint-attribute-weight.ts';
import { headerLabelAffinity } from './header-label-affinity.ts';
import { kvCacheUtilization } from './kv-cache-utilization.ts';
import { latency } from './latency.ts';
import { latencyObservation } from './latency-observation.ts';
import { loadAware } from './load-aware.ts';
import { loraAffinity } from './lora-affinity.ts';
import { mmEmbeddingsCache } from './mm-embeddings-cache.ts';
import { multiclusterKvCache, multiclusterQueue } from './multicluster.ts';
import { noHitLru } from './no-hit-lru.ts';
import { precisePrefixCache } from './precise-prefix-cache.ts';
import { predictedCost } from './predicted-cost.ts';
import { multiclusterPrefixCache, prefixCache } from './prefix-cache.ts';
import { queue } from './queue.ts';
import { roundRobin } from './round-robin.ts';
import { runningRequests } from './running-requests.ts';
import { sessionAffinity } from './session-affinity.ts';
import { tokenLoad } from './token-load.ts';
import { topologyAffinity } from './topology-affinity.ts';

/** Every scorer that a configuration may name. */
export const scorers: readonly ScorerDefinition[] = [
  activeRequest,
  assignment,
  contextLengthAware,
  endpointAttribute,
  endpointAttributeWeight,
  headerLabelAffinity,
  kvCacheUtilization,
  latency,
  latencyObservation,
  loadAware,
  loraAffinity,
  mmEmbeddingsCache,
  multiclusterKvCache,
  multiclusterPrefixCache,
  multiclusterQueue,
  noHitLru,
  precisePrefixCache,
  predictedCost,
  prefixCache,
  queue,
  roundRobin,
  runningRequests,
  sessionAffinity,
  tokenLoad,
  topologyAffinity,
  // Baselines: published policies to compare the default with.
  consistentHash,
  dualMap,
  dynamoCost,
  lmetric,
  powerOfTwo,
  preble,
  rendezvous,
  virtualTokens,
];
