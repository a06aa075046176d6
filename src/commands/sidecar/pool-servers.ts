import { poolVersionOf } from '../../endpoints/discovery/kubernetes/pool/inference-pool.ts';
import { startKubernetes } from '../../endpoints/discovery/kubernetes/start-kubernetes.ts';
import { ConfigError } from '../../framework/error.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { nodeClock } from '../../runtime/clock/node-clock.ts';
import { createLog } from '../../runtime/log/log.ts';
import { randomSeed } from '../../runtime/random-seed.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { AllowedServers } from '../../sidecar/options/allowed-servers.ts';
import { loadKubeconfig } from '../options/load-kubeconfig.ts';

export interface PoolServers {
  readonly allowed: AllowedServers;
  stop(): void;
}

/**
 * The ready pods of an InferencePool, `namespace/name` or a name in `default`, on its target ports:
 * none until they are listed. Rejects with a ConfigError.
 */
export async function followPool(
  pool: string,
  { group, kubeconfig }: { readonly group: string; readonly kubeconfig: string | undefined },
): Promise<PoolServers> {
  const [, namespace = 'default', name = ''] = /^(?:([^/]+)\/)?([^/]+)$/.exec(pool) ?? [];
  if (name === '') {
    const message = `is ${pool}: it must be namespace/name, or the name of a pool in default`;
    throw new ConfigError('command line', [{ path: '--inference-pool', message }]);
  }
  const endpoints = new EndpointPool();
  const servers = new Set<string>();
  endpoints.observeEndpoints({
    onEndpointAdded: ({ address }) => void servers.add(address),
    onEndpointRemoved: ({ address }) => void servers.delete(address),
  });
  const following = startKubernetes({
    config: await loadKubeconfig(kubeconfig),
    pool: { namespace, name, group, version: poolVersionOf(group) },
    endpoints,
    clock: nodeClock(),
    random: seededRandom(randomSeed()),
    log: createLog('info'),
  });
  return { allowed: (server) => servers.has(server), stop: () => following.stop() };
}
