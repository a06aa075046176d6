import type { KubeObject } from './informer.ts';

/** What of a Pod matters here. */
export interface Pod extends KubeObject {
  readonly metadata?: NonNullable<KubeObject['metadata']> & {
    readonly uid?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
    readonly deletionTimestamp?: unknown;
    /** A Date from a list, text from a watch. */
    readonly creationTimestamp?: string | { toISOString(): string } | undefined;
  };
  readonly spec?: { readonly nodeName?: string | undefined } | undefined;
  readonly status?:
    | {
        readonly phase?: string | undefined;
        readonly podIP?: string | undefined;
        readonly conditions?:
          | readonly { readonly type: string; readonly status: string }[]
          | undefined;
      }
    | undefined;
}

/** Ready, and nobody wants it gone. */
export function isServing({ metadata, status }: Pod): boolean {
  const has = (type: string): boolean =>
    status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
  return (
    metadata?.deletionTimestamp === undefined &&
    (status?.podIP ?? '') !== '' &&
    status?.phase !== 'Failed' &&
    status?.phase !== 'Succeeded' &&
    has('Ready') &&
    // Eviction, preemption, a node that is drained.
    !has('DisruptionTarget')
  );
}

/** The same without what is not looked at, which is most of it: a pod's containers, volumes and managed fields. */
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
      conditions: status?.conditions?.map(({ type, status: is }) => ({ type, status: is })),
    },
  };
}
