import { isServing, type Pod } from './pod.ts';

/** What LeaderWorkerSet puts on the pods of a group. */
const PREFIX = 'leaderworkerset.sigs.k8s.io';
const SET = `${PREFIX}/name`;
const GROUP_INDEX = `${PREFIX}/group-index`;
const GROUP_KEY = `${PREFIX}/group-key`;
const WORKER_INDEX = `${PREFIX}/worker-index`;
const REVISION = `${PREFIX}/template-revision-hash`;
/** Pods of a group, its leader among them. */
const SIZE = `${PREFIX}/size`;

/** Annotations of pods that are read here. */
export const GROUP_ANNOTATIONS: readonly string[] = [SIZE];

/** The pods that follow a leader: those of every set in a namespace. */
export const WORKER_SELECTOR: string = `${SET},${WORKER_INDEX},${WORKER_INDEX}!=0`;

export interface GroupMember {
  /** The same for all pods of a group, whichever make of them it is. */
  readonly group: string;
  /** The leader gets the requests. */
  readonly isLeader: boolean;
  /** Pods that make a whole group, where the set says so. */
  readonly size: number | undefined;
}

/** A pod's place in its group; undefined for one that is a replica by itself. */
export function memberOf({ metadata }: Pod): GroupMember | undefined {
  const { labels = {}, annotations = {}, namespace = '' } = metadata ?? {};
  const [worker, set] = [labels[WORKER_INDEX], labels[SET]];
  if (worker === undefined || set === undefined) return undefined;
  const key = labels[GROUP_KEY] ?? labels[GROUP_INDEX] ?? '';
  const size = Number(annotations[SIZE]);
  return {
    group: `${namespace}/${set}/${key}`,
    isLeader: worker === '0',
    size: Number.isSafeInteger(size) && size > 0 ? size : undefined,
  };
}

/**
 * Whether a group can serve: its leader and all its workers are ready, and of one make. A worker that was there before its
 * leader belongs to the group that this one replaces; so does one of another revision while a set is being updated.
 */
export function isWhole(leader: Pod, workers: Iterable<Pod>): boolean {
  const size = memberOf(leader)?.size;
  const places = new Set<string>();
  for (const worker of workers) {
    if (!isServing(worker) || !goWith(leader, worker)) return false;
    places.add(worker.metadata?.labels?.[WORKER_INDEX] ?? '');
  }
  return isServing(leader) && (size === undefined || places.size >= size - 1);
}

function goWith(leader: Pod, worker: Pod): boolean {
  const [revision, other] = [leader, worker].map((pod) => pod.metadata?.labels?.[REVISION]);
  if (revision !== undefined && other !== undefined && revision !== other) return false;
  const [from, at] = [createdAt(leader), createdAt(worker)];
  return from === undefined || at === undefined || at >= from;
}

/** To the second, which is all that the API server keeps, as text that sorts. */
function createdAt({ metadata }: Pod): string | undefined {
  const at = metadata?.creationTimestamp;
  return (typeof at === 'string' ? at : at?.toISOString())?.slice(0, 'yyyy-mm-ddThh:mm:ss'.length);
}
