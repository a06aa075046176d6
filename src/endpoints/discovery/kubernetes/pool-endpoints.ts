import type { EndpointId } from '../../../framework/endpoint.ts';
import type { EndpointSpec } from '../../../picker/endpoint-pool.ts';
import { isServing, type Pod } from './pod.ts';
import { isWhole, memberOf } from './pod-group.ts';

/** By which a node's labels name it; its name where there is nothing better. */
const HOST = 'kubernetes.io/hostname';

/** What else than the pod itself says whether and how it is an endpoint. */
export interface Surroundings {
  readonly ports: readonly number[];
  /** The pods that follow a leader, by `GroupMember.group`; undefined until they have been listed. */
  readonly workersOf: (group: string) => Iterable<Pod> | undefined;
  /** Labels that a pod takes over from its node, where it does not have them itself. */
  readonly inheritedLabels: ReadonlyMap<string, string> | undefined;
}

/** The endpoints of a pod that may get requests, one for each port; none of a worker, nor of a leader whose group is not whole. */
export function endpointsOf(pod: Pod, around: Surroundings): readonly EndpointSpec[] {
  if (!mayServe(pod, around)) return [];
  const { namespace = '', name = '', labels = {} } = pod.metadata ?? {};
  const ip = pod.status?.podIP ?? '';
  const { nodeName = '' } = pod.spec ?? {};
  const host: readonly [string, string][] = nodeName === '' ? [] : [[HOST, nodeName]];
  const all = new Map([...host, ...(around.inheritedLabels ?? []), ...Object.entries(labels)]);
  return around.ports.map((port, rank) => ({
    id: `${namespace}/${name}${around.ports.length > 1 ? `-rank-${rank}` : ''}` as EndpointId,
    address: `${ip.includes(':') ? `[${ip}]` : ip}:${port}`,
    labels: all,
  }));
}

function mayServe(pod: Pod, { workersOf }: Surroundings): boolean {
  const member = memberOf(pod);
  if (member === undefined) return isServing(pod);
  if (!member.isLeader) return false;
  if (member.size === 1) return isServing(pod);
  const workers = workersOf(member.group);
  return workers !== undefined && isWhole(pod, workers);
}
