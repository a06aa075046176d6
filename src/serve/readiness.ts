import type { Discovery } from '../endpoints/discovery/file/file-discovery.ts';
import type { KubernetesDiscovery } from '../endpoints/discovery/kubernetes/start-kubernetes.ts';
import { isFresh } from '../framework/endpoint.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { Readiness } from './admin/admin-server.ts';
import type { ConfigReload } from './config-reload.ts';
import type { LeaderElection } from './election/leader-election.ts';

/** What `/readyz` answers: ready with an endpoint and, with an election, only as the leader. */
export function readiness(
  {
    picker,
    discovery,
    kubernetes,
    election,
    reload,
  }: {
    readonly picker: EndpointPicker;
    readonly reload: ConfigReload | undefined;
    readonly discovery: Discovery | undefined;
    readonly kubernetes: KubernetesDiscovery | undefined;
    readonly election: LeaderElection | undefined;
  },
  now: number,
): Readiness {
  const endpoints = picker.pool.snapshot();
  const fresh = endpoints.filter((endpoint) => isFresh(endpoint, now)).length;
  const detail = {
    endpoints: endpoints.length,
    freshEndpoints: fresh,
    endpointsFileError: discovery?.lastError(),
    configError: reload?.lastError(),
    ...(kubernetes && {
      kubernetesSynced: kubernetes.synced,
      kubernetesAgeMs: kubernetes.ageMs,
      kubernetesTroubles: kubernetes.troubles,
      kubernetesGroups: kubernetes.groups,
      kubernetesRulesSynced: kubernetes.rulesSynced,
    }),
    ...(election && {
      leading: election.leading,
      leader: election.holder,
      leaseError: election.trouble,
    }),
  };
  return { ok: endpoints.length > 0 && (election?.leading ?? true), detail };
}
