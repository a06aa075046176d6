import { isServing, type Pod } from '../watch/kube-objects.ts';
import { groupMemberOf } from './pod-group.ts';
import { activePorts } from './pool-endpoints.ts';

/** A selector may be of any length. */
const SELECTOR_CHARACTERS_MAX = 200;

interface SelectedPods {
  readonly pods: Iterable<Pod>;
  readonly ports: readonly number[];
  readonly selector: string;
  readonly namespace: string;
}

/**
 * Why none of the pods that a pool selects is an endpoint: how many there are, and what each does.
 */
export function whyEmpty({ pods, ports, selector, namespace }: SelectedPods): string {
  const counts = new Map<string, number>();
  let all = 0;
  for (const pod of pods) {
    // Requests go to the leaders of groups only.
    if (groupMemberOf(pod)?.isLeader === false) continue;
    const state = stateOf(pod, ports);
    counts.set(state, (counts.get(state) ?? 0) + 1);
    all += 1;
  }
  const wanted = selector.slice(0, SELECTOR_CHARACTERS_MAX);
  if (all === 0) {
    return `no pod in namespace ${namespace} has the labels ${wanted}: correct the selector of the pool, or start model servers`;
  }
  // Sorted, so that the log does not repeat the same reasons in another order.
  const states = [...counts].sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1));
  const listed = states.map(([state, count]) => `${count} ${state}`).join(', ');
  return `none of ${all} ${all === 1 ? 'pod' : 'pods'} with the labels ${wanted} can serve: ${listed}`;
}

/** What keeps a pod from serving, or its group. */
function stateOf(pod: Pod, ports: readonly number[]): string {
  const { metadata, status = {} } = pod;
  const { phase, conditions = [], podIP = '', waitingReason } = status;
  const is = (type: string, wanted: string): boolean =>
    conditions.some((each) => each.type === type && each.status === wanted);
  if (metadata?.deletionTimestamp !== undefined) return 'ending';
  if (phase === 'Failed' || phase === 'Succeeded') return phase.toLowerCase();
  if (is('DisruptionTarget', 'True')) return 'being evicted';
  if (isServing(pod)) return stateOfReady(pod, ports);
  if (is('PodScheduled', 'False')) return 'not scheduled to a node';
  if (waitingReason !== undefined) return waitingReason;
  if (podIP === '') return 'starting';
  return 'not ready by the readiness probe';
}

function stateOfReady(pod: Pod, ports: readonly number[]): string {
  const active = activePorts(pod);
  if (active !== undefined && !ports.some((port) => active.ports.has(port))) {
    return `ready, but without a port of the pool in the annotation ${active.annotation}`;
  }
  if (groupMemberOf(pod) !== undefined) return 'ready, but with a group that is not whole';
  return 'ready, but not taken up yet';
}
