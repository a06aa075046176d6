export interface KubeObject {
  readonly metadata?: {
    readonly name?: string | undefined;
    readonly namespace?: string | undefined;
    readonly resourceVersion?: string | undefined;
  };
}

export interface Pod extends KubeObject {
  readonly metadata?: NonNullable<KubeObject['metadata']> & {
    readonly uid?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
    readonly deletionTimestamp?: unknown;
    /** A Date in a list, text in a watch event. */
    readonly creationTimestamp?: string | { toISOString(): string } | undefined;
  };
  readonly spec?: { readonly nodeName?: string | undefined } | undefined;
  readonly status?:
    | {
        readonly phase?: string | undefined;
        readonly podIP?: string | undefined;
        readonly hostIP?: string | undefined;
        readonly conditions?:
          | readonly { readonly type: string; readonly status: string }[]
          | undefined;
      }
    | undefined;
}

/** Whether the pod is ready and not about to end. */
export function isServing({ metadata, status }: Pod): boolean {
  const has = (type: string): boolean =>
    status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
  return (
    metadata?.deletionTimestamp === undefined &&
    (status?.podIP ?? '') !== '' &&
    status?.phase !== 'Failed' &&
    status?.phase !== 'Succeeded' &&
    has('Ready') &&
    // Eviction, preemption or the drain of a node.
    !has('DisruptionTarget')
  );
}

/** The pod without the fields not read here, and with only the named `annotations`. */
export function leanPod({ metadata = {}, spec, status }: Pod, annotations: readonly string[]): Pod {
  const { name, namespace, resourceVersion, uid, labels } = metadata;
  const { deletionTimestamp, creationTimestamp } = metadata;
  const kept = annotations.flatMap((key) => {
    const value = metadata.annotations?.[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return {
    metadata: {
      name,
      namespace,
      resourceVersion,
      uid,
      labels,
      deletionTimestamp,
      creationTimestamp,
      annotations: Object.fromEntries(kept),
    },
    spec: { nodeName: spec?.nodeName },
    status: {
      phase: status?.phase,
      podIP: status?.podIP,
      hostIP: status?.hostIP,
      conditions: status?.conditions?.map(({ type, status: is }) => ({ type, status: is })),
    },
  };
}

export interface Node extends KubeObject {
  readonly labels: ReadonlyMap<string, string>;
}

export function leanNode(
  { metadata = {} }: KubeObject & { readonly metadata?: { readonly labels?: object | undefined } },
  names: readonly string[],
): Node {
  const { name, resourceVersion } = metadata;
  const labels = Object.entries(metadata.labels ?? {}) as readonly [string, string][];
  return {
    metadata: { name, resourceVersion },
    labels: new Map(labels.filter(([label]) => names.includes(label))),
  };
}
