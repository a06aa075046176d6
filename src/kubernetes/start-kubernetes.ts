import type { KubeConfig } from '@kubernetes/client-node';
import type { EndpointPool } from '../datalayer/endpoint-pool.ts';
import type { Clock, Millis, Random } from '../framework/runtime.ts';
import type { Log } from '../observability/log.ts';
import { type PoolName, poolSources } from './kube-resources.ts';
import { PoolFollower } from './pool-follower.ts';

export interface KubernetesOptions {
  readonly config: KubeConfig;
  readonly pool: PoolName;
  /** Labels that endpoints take over from the nodes of their pods; none: nodes are not looked at. */
  readonly nodeLabels?: readonly string[] | undefined;
  readonly endpoints: EndpointPool;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface KubernetesDiscovery {
  /** Whether pool and pods have been listed; an absent pool counts, with no endpoints. */
  readonly synced: boolean;
  /** How old the oldest of the states is, while the API server is away; undefined before it was reached. */
  readonly ageMs: Millis | undefined;
  /** What is wrong at the moment, a sentence each that says what to do. */
  readonly troubles: readonly string[];
  stop(): void;
}

/**
 * Keeps the endpoint pool as an InferencePool and its pods are. An endpoint leaves the moment its pod is not ready, is being
 * deleted or evicted, or its group is not whole; requests in flight there go on. While the API server is away the last state
 * serves.
 */
export function startKubernetes({
  config,
  pool,
  nodeLabels = [],
  ...rest
}: KubernetesOptions): KubernetesDiscovery {
  const sources = poolSources(config, pool, nodeLabels);
  return new PoolFollower({ ...rest, poolName: pool, sources });
}
