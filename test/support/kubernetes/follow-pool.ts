import type { KubeConfig } from '@kubernetes/client-node';
import { INFERENCE_GROUP } from '../../../bench/support/inference-pools.ts';
import { NAMESPACE } from '../../../bench/support/kubernetes-objects.ts';
import { kubeconfigAccess } from '../../../src/commands/api-access/kubeconfig-access.ts';
import {
  type KubernetesDiscovery,
  startKubernetes,
} from '../../../src/endpoints/discovery/kubernetes/start-kubernetes.ts';
import { nodeClock } from '../../../src/runtime/clock/node-clock.ts';
import { createLog } from '../../../src/runtime/log/log.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';

type KubernetesOptions = Parameters<typeof startKubernetes>[0];

/** Follows the InferencePool `pool` of a real API server. It logs nothing, unless `options` say so. */
export function followPool(
  config: KubeConfig,
  options: Partial<KubernetesOptions> & Pick<KubernetesOptions, 'endpoints'>,
): KubernetesDiscovery {
  return startKubernetes({
    access: kubeconfigAccess(config),
    pool: { namespace: NAMESPACE, name: 'pool', group: INFERENCE_GROUP, version: 'v1' },
    clock: nodeClock(),
    random: seededRandom(1),
    log: createLog('silent'),
    ...options,
  });
}
