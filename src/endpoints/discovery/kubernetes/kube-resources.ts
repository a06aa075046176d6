import type { KubeConfig } from '@kubernetes/client-node';
import { type ApiConnection, connectApi } from './api/api-connection.ts';
import { type ApiRequest, apiServerOf, apiStatusOf, explainApiError } from './api/api-error.ts';
import { listObjects } from './api/list-objects.ts';
import type { Pace } from './api/pace.ts';
import { watchObjects } from './api/watch-objects.ts';
import { type InferencePool, type InferencePoolSpec, leanPool } from './inference-pool.ts';
import type { ResourceSource, WatchObserver } from './informer.ts';
import { type KubeObject, leanNode, leanPod, type Node, type Pod } from './kube-objects.ts';
import { GROUP_ANNOTATIONS, WORKER_SELECTOR } from './pod-group.ts';
import { PORT_ANNOTATIONS } from './pool-endpoints.ts';
import type { PoolSources } from './pool-follower.ts';

export interface PoolName {
  readonly namespace: string;
  readonly name: string;
  /** The API group: `inference.networking.k8s.io`, or an older one. */
  readonly group: string;
  readonly version: string;
}

/** An API server, and the pace at which its answers are read. */
export interface PacedServer {
  readonly config: KubeConfig;
  readonly pace: Pick<Pace, 'run' | 'now'>;
}

/** The objects of an API server that a `PoolFollower` reads. Without labels, no nodes are read. */
export function poolSources(
  server: PacedServer,
  { namespace, name, group, version }: PoolName,
  {
    nodeLabels,
    spec,
  }: { readonly nodeLabels: readonly string[]; readonly spec?: InferencePoolSpec | undefined },
): PoolSources {
  return {
    pool:
      spec ??
      objectSource<InferencePool>(server, {
        group,
        version,
        namespace,
        plural: 'inferencepools',
        selector: { fieldSelector: `metadata.name=${name}` },
        lean: leanPool,
      }),
    pods: (labelSelector) => podSource(server, namespace, labelSelector),
    workers: () => podSource(server, namespace, WORKER_SELECTOR),
    nodes: nodeLabels.length === 0 ? undefined : nodeSource(server, nodeLabels),
  };
}

interface ObjectKind<T> {
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly plural: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly lean: (object: T) => T;
}

export function objectSource<T extends KubeObject>(
  server: PacedServer,
  { group, version, namespace, plural, selector, lean }: ObjectKind<T>,
): ResourceSource<T> {
  return resourceSource<T>({
    ...server,
    what: `${plural}.${group} in namespace ${namespace}`,
    path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
    selector,
    lean,
  });
}

function podSource(
  server: PacedServer,
  namespace: string,
  labelSelector: string,
): ResourceSource<Pod> {
  return resourceSource<Pod>({
    ...server,
    what: `pods in namespace ${namespace}`,
    path: `/api/v1/namespaces/${namespace}/pods`,
    selector: { labelSelector },
    lean: (pod) => leanPod(pod, [...GROUP_ANNOTATIONS, ...PORT_ANNOTATIONS]),
  });
}

/** Asks for the metadata of nodes, without images, conditions and volumes. */
const METADATA = 'application/json;g=meta.k8s.io;v=v1';
const METADATA_LIST = `${METADATA};as=PartialObjectMetadataList,application/json`;
const METADATA_EACH = `${METADATA};as=PartialObjectMetadata,application/json`;

/** All nodes, with only those of their labels that are in `labels`. */
function nodeSource(server: PacedServer, labels: readonly string[]): ResourceSource<Node> {
  return resourceSource<Node>({
    ...server,
    accept: { list: METADATA_LIST, watch: METADATA_EACH },
    what: 'nodes, whose labels say where endpoints stand',
    clusterWide: true,
    path: '/api/v1/nodes',
    selector: {},
    lean: (node) => leanNode(node, labels),
  });
}

interface Resource<T> {
  readonly config: KubeConfig;
  readonly pace: Pick<Pace, 'run' | 'now'>;
  readonly what: ApiRequest['what'];
  readonly clusterWide?: boolean;
  readonly path: string;
  readonly selector: Readonly<Record<string, string>>;
  /** What is accepted of lists and of watches, where that is not all of the objects as JSON. */
  readonly accept?: { readonly list: string; readonly watch: string };
  readonly lean: (object: T) => T;
}

function resourceSource<T extends KubeObject>(resource: Resource<T>): ResourceSource<T> {
  const { config, pace, lean } = resource;
  const explain = explainerOf(resource);
  return {
    list: async (visit, signal) => {
      let api: ApiConnection | undefined;
      try {
        api = await connectApi(config, resource.accept?.list);
        const each = (object: unknown): void => visit(lean(object as T));
        return await listObjects(api, resource, { pace, signal, visit: each });
      } catch (error) {
        throw new Error(explain('list', error), { cause: error });
      } finally {
        api?.close();
      }
    },
    watch: (resourceVersion, observer) => {
      const stopping = new AbortController();
      void follow(resource, resourceVersion, { observer, signal: stopping.signal }).then(
        ({ error, status }) => {
          if (stopping.signal.aborted) return;
          observer.onEnd(status ?? apiStatusOf(error), explain('watch', error, status));
        },
      );
      return { stop: () => stopping.abort() };
    },
  };
}

/** Ends a watch as if the server no longer had the version: what was seen cannot be relied on. */
const GONE = 410;

/** Resolves when the watch has ended, with the error that ended it, if there was one. */
async function follow<T extends KubeObject>(
  resource: Resource<T>,
  resourceVersion: string,
  { observer, signal }: { readonly observer: WatchObserver<T>; readonly signal: AbortSignal },
): Promise<{ readonly error?: unknown; readonly status?: number }> {
  const { config, pace, lean, accept } = resource;
  let api: ApiConnection | undefined;
  let lost = false;
  const onEvent = (type: string, object: unknown): void => {
    lost = true;
    observer.onEvent({ type, object: type === 'BOOKMARK' ? (object as T) : lean(object as T) });
    lost = false;
  };
  try {
    api = await connectApi(config, accept?.watch);
    const parts = { pace, signal, onOpen: () => observer.onOpen(), onEvent };
    await watchObjects(api, resource, resourceVersion, parts);
    return {};
  } catch (error) {
    return lost ? { error, status: GONE } : { error };
  } finally {
    api?.close();
  }
}

type Explain = (verb: ApiRequest['verb'], error: unknown, status?: number) => string;

function explainerOf({
  config,
  what,
  clusterWide = false,
}: Pick<Resource<never>, 'config' | 'what' | 'clusterWide'>): Explain {
  const server = apiServerOf(config);
  return (verb, error, status) =>
    explainApiError(error, { verb, what, server, clusterWide }, status);
}
