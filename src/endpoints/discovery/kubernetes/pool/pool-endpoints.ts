import type { EndpointId } from '../../../../framework/endpoint.ts';
import type { EndpointSpec } from '../../../../picker/pool/endpoint-pool.ts';
import { isAddress } from '../../file/host-port.ts';
import { isServing, type Pod } from '../watch/kube-objects.ts';
import { groupMemberOf, isWhole } from './pod-group.ts';

/** The label that names a pod's node; by default its value is the node's name. */
const HOST_LABEL = 'kubernetes.io/hostname';

/** Everything but the pod itself that decides whether and how it is an endpoint. */
export interface PodContext {
  readonly ports: readonly number[];
  /** The workers of a `GroupMember.group`; undefined until workers have been listed. */
  readonly workersOf: (group: string) => Iterable<Pod> | undefined;
  /** Labels of the pod's node that the endpoint gets, unless the pod has its own. */
  readonly inheritedLabels: ReadonlyMap<string, string> | undefined;
}

/** One for each port. None for workers, for pods that do not serve and for incomplete groups. */
export function endpointsOf(pod: Pod, context: PodContext): readonly EndpointSpec[] {
  if (!mayServe(pod, context)) return [];
  const { namespace = '', name = '', labels = {} } = pod.metadata ?? {};
  const ip = pod.status?.podIP ?? '';
  // It becomes part of a header and of URLs.
  if (!isAddress(ip)) return [];
  const { nodeName = '' } = pod.spec ?? {};
  const host: readonly [string, string][] = nodeName === '' ? [] : [[HOST_LABEL, nodeName]];
  const all = new Map([...host, ...(context.inheritedLabels ?? []), ...Object.entries(labels)]);
  const active = activePorts(pod);
  return context.ports.flatMap((port, rank) => {
    if (active?.ports.has(port) === false) return [];
    const host = ip.includes(':') ? `[${ip}]` : ip;
    // As the reference names it: tokens of sessions carry this name, and metrics are labelled with
    // it.
    const id = `${namespace}/${name}-rank-${rank}` as EndpointId;
    const nodeAddress = pod.status?.hostIP;
    return [{ id, address: `${host}:${port}`, labels: all, ...(nodeAddress && { nodeAddress }) }];
  });
}

/** The first one that a pod has counts; the other is its former name. */
const ACTIVE_PORTS = ['llm-d.ai/active-ports', 'inference.networking.k8s.io/active-ports'];
/** The annotations that decide which ports of a pod are endpoints. */
export const PORT_ANNOTATIONS: readonly string[] = ACTIVE_PORTS;

interface ActivePorts {
  readonly annotation: string;
  readonly ports: ReadonlySet<number>;
}

/** The ports that a pod says are active; undefined where it says nothing, and all of them are. */
export function activePorts({ metadata }: Pod): ActivePorts | undefined {
  const { annotations = {} } = metadata ?? {};
  const annotation = ACTIVE_PORTS.find((name) => annotations[name] !== undefined);
  if (annotation === undefined) return undefined;
  const parts = (annotations[annotation] ?? '').split(',');
  // As Go reads a number: what follows its digits is passed over.
  const ports = new Set(parts.map((part) => Number(/^\s*\+?(\d+)/.exec(part)?.[1])));
  return { annotation, ports };
}

function mayServe(pod: Pod, { workersOf }: PodContext): boolean {
  const member = groupMemberOf(pod);
  if (member === undefined) return isServing(pod);
  if (!member.isLeader) return false;
  if (member.size === 1) return isServing(pod);
  const workers = workersOf(member.group);
  return workers !== undefined && isWhole(pod, workers);
}
