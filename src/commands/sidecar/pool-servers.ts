import { poolVersionOf } from '../../endpoints/discovery/kubernetes/pool/inference-pool.ts';
import { startKubernetes } from '../../endpoints/discovery/kubernetes/start-kubernetes.ts';
import { commandLineError } from '../../framework/error.ts';
import type { Millis } from '../../framework/runtime.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { nodeClock } from '../../runtime/clock/node-clock.ts';
import { createLog } from '../../runtime/log/log.ts';
import { randomSeed } from '../../runtime/random-seed.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { AllowedServers } from '../../sidecar/options/allowed-servers.ts';
import { loadApiAccess } from '../api-access/load-api-access.ts';

export interface PoolServers {
  readonly allowed: AllowedServers;
  stop(): void;
}

/** Requests that come before the pods are listed are refused: they are waited for so long. */
const LISTED_MS: Millis = 10_000;
const LOOK_MS: Millis = 20;

/**
 * The pods of an InferencePool, `namespace/name` or a name in `default`, on its target ports. Those
 * that are not ready count, too: a picker may see that a pod becomes ready a moment sooner, or that
 * it ends a moment later. Rejects with a ConfigError.
 */
export async function followPool(
  pool: string,
  { group, kubeconfig }: { readonly group: string; readonly kubeconfig: string | undefined },
): Promise<PoolServers> {
  const [, namespace = 'default', name = ''] = /^(?:([^/]+)\/)?([^/]+)$/.exec(pool) ?? [];
  if (name === '') {
    const message = `is ${pool}: it must be namespace/name, or the name of a pool in default`;
    throw commandLineError('--inference-pool', message);
  }
  const clock = nodeClock();
  const following = startKubernetes({
    access: await loadApiAccess(kubeconfig),
    pool: { namespace, name, group, version: poolVersionOf(group) },
    endpoints: new EndpointPool(),
    clock,
    random: seededRandom(randomSeed()),
    log: createLog('info'),
  });
  const until = clock.now() + LISTED_MS;
  while (!following.synced && clock.now() < until) {
    await new Promise<void>((resolve) => void clock.setTimer(LOOK_MS, resolve));
  }
  return { allowed: (server) => following.hasPodAt(server), stop: () => following.stop() };
}
