import type { KubeConfig } from '@kubernetes/client-node';
import type { Clock, Random } from '../../../framework/runtime.ts';
import type { EndpointPool } from '../../../picker/pool/endpoint-pool.ts';
import type { Log } from '../../../runtime/log/log.ts';
import type { RequestRules } from '../../rewrites/request-rules.ts';
import { followRules } from './follow-rules.ts';
import { HeldEndpoints } from './held-endpoints.ts';
import type { InferencePoolSpec } from './inference-pool.ts';
import { type PoolName, poolSources } from './kube-resources.ts';
import { PoolFollower } from './pool-follower.ts';

interface KubernetesOptions {
  readonly config: KubeConfig;
  readonly pool: PoolName;
  /** The pods and ports of the pool, where there is no InferencePool. */
  readonly spec?: InferencePoolSpec | undefined;
  /** Labels that endpoints take from the nodes of their pods. With none, nodes are not read. */
  readonly nodeLabels?: readonly string[] | undefined;
  /** Called with what the pool speaks, when that changes. */
  readonly onAppProtocol?: ((appProtocol: string | undefined) => void) | undefined;
  readonly endpoints: EndpointPool;
  /** Gets the InferenceObjectives and InferenceModelRewrites; undefined: they are not read. */
  readonly rules?: Pick<RequestRules, 'setObjectives' | 'setRewrites'> | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface KubernetesDiscovery
  extends Pick<PoolFollower, 'synced' | 'ageMs' | 'troubles' | 'groups'> {
  /** Whether the pool's rules have been listed. A kind that is not installed counts as listed. */
  readonly rulesSynced: boolean;
  /** Counts the groups of pods that are endpoints, and those that are not whole. */
  stop(): void;
}

/**
 * Keeps the endpoint pool equal to an InferencePool's ready pods and whole groups. Requests in
 * flight at others continue. Endpoints are added only once the rules are known: else a request
 * could reach a model that a rule replaces.
 */
export function startKubernetes(options: KubernetesOptions): KubernetesDiscovery {
  const { config, pool, spec, nodeLabels = [], endpoints, rules, clock, random, log } = options;
  const held = new HeldEndpoints(endpoints);
  const follower = new PoolFollower({
    sources: poolSources(config, pool, { nodeLabels, spec }),
    poolName: pool,
    endpoints: held,
    onAppProtocol: options.onAppProtocol,
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
