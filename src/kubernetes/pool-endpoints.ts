import type { EndpointSpec } from '../datalayer/endpoint-pool.ts';
import type { EndpointId } from '../framework/endpoint.ts';
import type { KubeObject } from './informer.ts';

/** What of an InferencePool matters here. */
export interface InferencePool extends KubeObject {
  readonly spec?: {
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> | undefined };
    readonly targetPorts?: readonly { readonly number: number }[] | undefined;
  };
}

/** What of a Pod does. */
export interface Pod extends KubeObject {
  readonly metadata?: NonNullable<KubeObject['metadata']> & {
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly deletionTimestamp?: unknown;
  };
  readonly status?: {
    readonly phase?: string | undefined;
    readonly podIP?: string | undefined;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[] | undefined;
  };
}

/** A selector of no labels would take every pod of the namespace: a mistake, and taken for none. */
export function selectorOf({ spec }: InferencePool): string | undefined {
  const labels = Object.entries(spec?.selector?.matchLabels ?? {});
  if (labels.length === 0) return undefined;
  return labels
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(',');
}

/** The endpoints that a pool has: one for each target port of each pod that may get requests. */
export function endpointsOf(
  pool: InferencePool | undefined,
  pods: Iterable<Pod>,
): readonly EndpointSpec[] {
  const ports = pool?.spec?.targetPorts ?? [];
  return [...pods].filter(isServing).flatMap((pod) =>
    ports.map(({ number }, rank) => {
      const { namespace = '', name = '', labels = {} } = pod.metadata ?? {};
      const ip = pod.status?.podIP ?? '';
      return {
        id: `${namespace}/${name}${ports.length > 1 ? `-rank-${rank}` : ''}` as EndpointId,
        address: `${ip.includes(':') ? `[${ip}]` : ip}:${number}`,
        labels: new Map(Object.entries(labels)),
      };
    }),
  );
}

/** Ready, and nobody wants it gone. */
function isServing({ metadata, status }: Pod): boolean {
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
