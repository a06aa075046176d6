export interface KubeObject {
  readonly metadata?: {
    readonly name?: string | undefined;
    readonly namespace?: string | undefined;
    readonly resourceVersion?: string | undefined;
  };
}

interface ContainerStatus {
  readonly state?: { readonly waiting?: { readonly reason?: string } | undefined } | undefined;
}

export interface Pod extends KubeObject {
  readonly metadata?: NonNullable<KubeObject['metadata']> & {
    readonly uid?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
    readonly deletionTimestamp?: unknown;
    readonly creationTimestamp?: string | undefined;
  };
  readonly spec?: { readonly nodeName?: string | undefined } | undefined;
  readonly status?:
    | {
        readonly phase?: string | undefined;
        readonly podIP?: string | undefined;
        readonly hostIP?: string | undefined;
        /** Why the first container that waits does so, such as `CrashLoopBackOff`. */
        readonly waitingReason?: string | undefined;
        readonly initContainerStatuses?: readonly ContainerStatus[] | undefined;
        readonly containerStatuses?: readonly ContainerStatus[] | undefined;
        readonly conditions?:
          | readonly { readonly type: string; readonly status: string }[]
          | undefined;
      }
    | undefined;
}

type Metadata = NonNullable<KubeObject['metadata']>;

/** The metadata of all kinds, where it is text, as all is that an API server has checked. */
export function leanMetadata(
  given: { readonly [field in keyof Metadata]: unknown } | null | undefined,
): Metadata {
  const { name, namespace, resourceVersion } = given ?? {};
  return {
    name: textOf(name),
    namespace: textOf(namespace),
    resourceVersion: textOf(resourceVersion),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Whether the pod is ready and not about to end. */
export function isServing({ metadata, status }: Pod): boolean {
  const has = (type: string): boolean =>
    status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
  return (
    metadata?.deletionTimestamp === undefined &&
    (status?.podIP ?? '') !== '' &&
    !hasEnded(status) &&
    has('Ready') &&
    // Eviction, preemption or the drain of a node.
    !has('DisruptionTarget')
  );
}

/** Whether all containers of a pod have ended; another pod may have its address then. */
export function hasEnded(status: Pod['status']): boolean {
  return status?.phase === 'Failed' || status?.phase === 'Succeeded';
}

/** The pod without the fields not read here, and with only the named `annotations`. */
export function leanPod(
  { metadata: given, spec, status }: Pod,
  annotations: readonly string[],
): Pod {
  const metadata = given ?? {};
  const { uid, deletionTimestamp, creationTimestamp } = metadata;
  const notes = textsOf(metadata.annotations);
  return {
    metadata: {
      ...leanMetadata(metadata),
      uid,
      labels: Object.fromEntries(textsOf(metadata.labels)),
      deletionTimestamp,
      creationTimestamp: typeof creationTimestamp === 'string' ? creationTimestamp : undefined,
      annotations: Object.fromEntries(notes.filter(([key]) => annotations.includes(key))),
    },
    spec: { nodeName: spec?.nodeName },
    status: {
      phase: status?.phase,
      podIP: status?.podIP,
      hostIP: status?.hostIP,
      waitingReason: waitingReason(status),
      conditions: listOf(status?.conditions).map(({ type, status: is }) => ({ type, status: is })),
    },
  };
}

/** A kubelet writes a single word there. */
const REASON_CHARACTERS_MAX = 40;

function waitingReason(status: Pod['status']): string | undefined {
  const containers = [status?.initContainerStatuses, status?.containerStatuses].flatMap(listOf);
  const reason: unknown = containers
    .map(({ state }) => state?.waiting?.reason)
    .find((each) => each !== undefined);
  return typeof reason === 'string' ? reason.slice(0, REASON_CHARACTERS_MAX) : undefined;
}

/** The entries of a map that are text, as all are that an API server has checked. */
function textsOf(map: object | null | undefined): readonly (readonly [string, string])[] {
  if (typeof map !== 'object') return [];
  return Object.entries(map ?? {}).filter(([, value]) => typeof value === 'string');
}

function listOf<T>(list: readonly T[] | null | undefined): readonly T[] {
  return Array.isArray(list) ? (list as readonly T[]).filter((each) => Boolean(each)) : [];
}

export interface Node extends KubeObject {
  readonly labels: ReadonlyMap<string, string>;
}

export function leanNode(
  { metadata }: KubeObject & { readonly metadata?: { readonly labels?: object | undefined } },
  names: readonly string[],
): Node {
  const { name, resourceVersion } = leanMetadata(metadata);
  return {
    metadata: { name, resourceVersion },
    labels: new Map(textsOf(metadata?.labels).filter(([label]) => names.includes(label))),
  };
}
