import type { KubeConfig } from '@kubernetes/client-node';
import type { Clock, Millis, Random } from '../../../framework/runtime.ts';
import type { EndpointPool } from '../../../picker/endpoint-pool.ts';
import type { Log } from '../../../runtime/log.ts';
import type { RequestRules } from '../../rewrites/request-rules.ts';
import { followRules } from './follow-rules.ts';
import { HeldEndpoints } from './held-endpoints.ts';
import { type PoolName, poolSources } from './kube-resources.ts';
import { PoolFollower } from './pool-follower.ts';
import type { GroupCounts } from './replicas.ts';

export interface KubernetesOptions {
  readonly config: KubeConfig;
  readonly pool: PoolName;
  /** Labels that endpoints take over from the nodes of their pods; none: nodes are not looked at. */
  readonly nodeLabels?: readonly string[] | undefined;
  readonly endpoints: EndpointPool;
  /** Are told what the pool's InferenceObjectives and InferenceModelRewrites say; undefined: those are not looked at. */
  readonly rules?: Pick<RequestRules, 'setObjectives' | 'setRewrites'> | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface KubernetesDiscovery {
  /** Whether pool and pods have been listed; an absent pool counts, with no endpoints. */
  readonly synced: boolean;
  /** Whether InferenceObjectives and InferenceModelRewrites have been listed; kinds that are not installed count. */
  readonly rulesSynced: boolean;
  /** How old the oldest of the states is, while the API server is away; undefined before it was reached. */
  readonly ageMs: Millis | undefined;
  /** What is wrong at the moment, a sentence each that says what to do. */
  readonly troubles: readonly string[];
  /** Groups of pods that are endpoints, and those of which a pod is missing or not ready. */
  readonly groups: GroupCounts;
  stop(): void;
}

/**
 * Keeps the endpoint pool as an InferencePool and its pods are. An endpoint leaves the moment its pod is not ready, is being
 * deleted or evicted, or its group is not whole; requests in flight there go on. While the API server is away the last state
 * serves. No endpoint comes before the rules of requests are known: a request must not reach a model in whose place another
 * was to serve.
 */
export function startKubernetes(options: KubernetesOptions): KubernetesDiscovery {
  const { config, pool, nodeLabels = [], endpoints, rules, clock, random, log } = options;
  const held = new HeldEndpoints(endpoints);
  const follower = new PoolFollower({
    sources: poolSources(config, pool, nodeLabels),
    poolName: pool,
    endpoints: held,
    clock,
    random,
    log,
  });
  if (rules === undefined) held.release();
  const followed =
    rules &&
    followRules({
      config,
      pool,
      rules,
      clock,
      random: random.fork('rules'),
      onSettled: () => held.release(),
      onTrouble: (reason) => log.warn({ pool, reason }, 'Kubernetes'),
    });
  return {
    get synced() {
      return follower.synced;
    },
    get rulesSynced() {
      return followed?.synced ?? true;
    },
    get ageMs() {
      return follower.ageMs;
    },
    get troubles() {
      return [...follower.troubles, ...(followed?.troubles ?? [])];
    },
    get groups() {
      return follower.groups;
    },
    stop: () => {
      follower.stop();
      followed?.stop();
    },
  };
}
