import { isServing, type Pod } from '../watch/kube-objects.ts';

/** Labels and annotations that LeaderWorkerSet puts on the pods of a group. */
const PREFIX = 'leaderworkerset.sigs.k8s.io';
const SET = `${PREFIX}/name`;
const GROUP_INDEX = `${PREFIX}/group-index`;
const GROUP_KEY = `${PREFIX}/group-key`;
const WORKER_INDEX = `${PREFIX}/worker-index`;
const REVISION = `${PREFIX}/template-revision-hash`;
/** The number of pods in a group, including the leader. */
const SIZE = `${PREFIX}/size`;

export const GROUP_ANNOTATIONS: readonly string[] = [SIZE];

/** Selects the workers of every LeaderWorkerSet in a namespace. */
export const WORKER_SELECTOR: string = `${SET},${WORKER_INDEX},${WORKER_INDEX}!=0`;

interface GroupMember {
  /** Names the group of a pod; a group that is created anew keeps its name. */
  readonly group: string;
  readonly isLeader: boolean;
  /** The number of pods of a whole group; undefined where the set does not state it. */
  readonly size: number | undefined;
}

/** The pod's membership in a group; undefined for a pod that is a replica by itself. */
export function groupMemberOf({ metadata }: Pod): GroupMember | undefined {
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

/** Workers that are older, or of another revision, belong to the group that this one replaces. */
export function isWhole(leader: Pod, workers: Iterable<Pod>): boolean {
  const size = groupMemberOf(leader)?.size;
  const indexes = new Set<string>();
  for (const worker of workers) {
    if (!isServing(worker) || !belongTogether(leader, worker)) return false;
    indexes.add(worker.metadata?.labels?.[WORKER_INDEX] ?? '');
  }
  return isServing(leader) && (size === undefined || indexes.size >= size - 1);
}

function belongTogether(leader: Pod, worker: Pod): boolean {
  const [revision, other] = [leader, worker].map((pod) => pod.metadata?.labels?.[REVISION]);
  if (revision !== undefined && other !== undefined && revision !== other) return false;
  const [leaderAt, workerAt] = [createdAt(leader), createdAt(worker)];
  return leaderAt === undefined || workerAt === undefined || workerAt >= leaderAt;
}

/** Sortable text, to the second: the API server keeps no fractions. */
function createdAt({ metadata }: Pod): string | undefined {
  const at = metadata?.creationTimestamp;
  return at?.slice(0, 'yyyy-mm-ddThh:mm:ss'.length);
}
