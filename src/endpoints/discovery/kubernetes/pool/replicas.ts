import type { EndpointId } from '../../../../framework/endpoint.ts';
import type { EndpointSink } from '../../../../picker/pool/endpoint-pool.ts';
import { splitHostPort } from '../../file/host-port.ts';
import { hasEnded, type Node, type Pod } from '../watch/kube-objects.ts';
import { groupMemberOf } from './pod-group.ts';
import { endpointsOf, type PodContext } from './pool-endpoints.ts';

type Labels = ReadonlyMap<string, string>;

export interface GroupCounts {
  readonly whole: number;
  readonly partial: number;
}

interface PodEndpoints {
  readonly uid: string | undefined;
  readonly ids: readonly EndpointId[];
}

const NOTHING: ReadonlyMap<string, Pod> = new Map();

/** The endpoints of the serving pods. The cost of a change does not depend on the pool's size. */
export class Replicas {
  readonly #endpoints: EndpointSink;
  readonly #held = new Map<string, PodEndpoints>();
  /** The key of the leading pod, by group. */
  readonly #leaders = new Map<string, string>();
  /** The group that a pod leads, by the key of the pod. */
  readonly #ledBy = new Map<string, string>();
  #pods = NOTHING;
  #ports: readonly number[] = [];
  #workersListed = false;
  readonly #byGroup = new Map<string, Map<string, Pod>>();
  /** The last known group of each worker, for workers that have been deleted. */
  readonly #groupOf = new Map<string, string>();
  readonly #nodes = new Map<string, Labels>();

  constructor(endpoints: EndpointSink) {
    this.#endpoints = endpoints;
  }

  /** The pods that the pool selects. */
  get pods(): Iterable<Pod> {
    return this.#pods.values();
  }

  get ports(): readonly number[] {
    return this.#ports;
  }

  /** Whether a pod that the pool selects has this address, also one that is not ready. */
  hasPodAt(server: string): boolean {
    const { host, port } = splitHostPort(server);
    if (!this.#ports.includes(port)) return false;
    for (const { status } of this.#pods.values()) {
      if (status?.podIP === host && !hasEnded(status)) return true;
    }
    return false;
  }

  get groups(): GroupCounts {
    const leaders = [...this.#leaders.values()];
    const whole = leaders.filter((key) => this.#held.has(key)).length;
    return { whole, partial: leaders.length - whole };
  }

  setPorts(ports: readonly number[]): void {
    if (ports.length === this.#ports.length && ports.every((port, at) => port === this.#ports[at]))
      return;
    this.#ports = ports;
    this.#refreshAll();
  }

  updatePods(pods: ReadonlyMap<string, Pod>, changed?: string): void {
    this.#pods = pods;
    if (changed === undefined) this.#refreshAll();
    else this.#refresh(changed);
  }

  updateWorkers(workers: ReadonlyMap<string, Pod>, changed?: string): void {
    this.#workersListed = true;
    if (changed === undefined) {
      this.#byGroup.clear();
      this.#groupOf.clear();
      for (const [key, worker] of workers) this.#place(key, worker);
      this.#refreshAll();
      return;
    }
    const before = this.#groupOf.get(changed);
    this.#place(changed, workers.get(changed));
    for (const group of new Set([before, this.#groupOf.get(changed)])) {
      const leader = this.#leaders.get(group ?? '');
      if (leader !== undefined) this.#refresh(leader);
    }
  }

  /** `nodes` carry only the labels that endpoints get. */
  updateNodes(nodes: ReadonlyMap<string, Node>, changed?: string): void {
    const keys = changed === undefined ? [...this.#nodes.keys(), ...nodes.keys()] : [changed];
    const relabelled = new Set<string>();
    for (const key of new Set(keys)) {
      const labels = nodes.get(key)?.labels;
      // Nodes change all the time, but seldom their labels.
      if (same(this.#nodes.get(key), labels)) continue;
      if (labels === undefined) this.#nodes.delete(key);
      else this.#nodes.set(key, labels);
      relabelled.add(key);
    }
    if (relabelled.size === 0) return;
    for (const [key, pod] of this.#pods) if (relabelled.has(nodeKey(pod))) this.#refresh(key);
  }

  #place(key: string, worker: Pod | undefined): void {
    const before = this.#groupOf.get(key);
    const group = worker && groupMemberOf(worker)?.group;
    if (before !== undefined && before !== group) {
      this.#byGroup.get(before)?.delete(key);
      if (this.#byGroup.get(before)?.size === 0) this.#byGroup.delete(before);
      this.#groupOf.delete(key);
    }
    if (worker === undefined || group === undefined) return;
    const members = this.#byGroup.get(group) ?? new Map<string, Pod>();
    this.#byGroup.set(group, members.set(key, worker));
    this.#groupOf.set(key, group);
  }

  #refreshAll(): void {
    const gone = [...this.#held.keys(), ...this.#leaders.values()];
    for (const key of new Set(gone)) if (!this.#pods.has(key)) this.#refresh(key);
    for (const key of this.#pods.keys()) this.#refresh(key);
  }

  #refresh(key: string): void {
    const pod = this.#pods.get(key);
    this.#noteLeader(key, pod);
    const wanted = pod === undefined ? [] : endpointsOf(pod, this.#contextOf(pod));
    const held = this.#held.get(key);
    const uid = pod?.metadata?.uid;
    // A recreated pod is a new server, even under its old name and address.
    const kept = new Set(held?.uid === uid ? wanted.map(({ id }) => id) : []);
    for (const id of held?.ids ?? []) if (!kept.has(id)) this.#endpoints.remove(id);
    for (const spec of wanted) this.#endpoints.upsert(spec);
    if (wanted.length === 0) this.#held.delete(key);
    else this.#held.set(key, { uid, ids: wanted.map(({ id }) => id) });
  }

  #noteLeader(key: string, pod: Pod | undefined): void {
    const member = pod && groupMemberOf(pod);
    const group = member?.isLeader === true ? member.group : undefined;
    const before = this.#ledBy.get(key);
    if (before !== undefined && before !== group) {
      this.#ledBy.delete(key);
      if (this.#leaders.get(before) === key) this.#leaders.delete(before);
    }
    if (group === undefined) return;
    this.#ledBy.set(key, group);
    this.#leaders.set(group, key);
  }

  #contextOf(pod: Pod): PodContext {
    return {
      ports: this.#ports,
      workersOf: (group) =>
        this.#workersListed ? (this.#byGroup.get(group)?.values() ?? []) : undefined,
      inheritedLabels: this.#nodes.get(nodeKey(pod)),
    };
  }
}

/** Nodes are in no namespace, so their keys begin with `/`. */
function nodeKey({ spec }: Pod): string {
  return `/${spec?.nodeName ?? ''}`;
}

function same(a: Labels | undefined, b: Labels | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.size === b.size && [...a].every(([name, value]) => b.get(name) === value);
}
