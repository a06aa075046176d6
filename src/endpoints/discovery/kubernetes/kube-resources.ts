import {
  CoreV1Api,
  CustomObjectsApi,
  type KubeConfig,
  type RequestContext,
  setHeaderOptions,
  Watch,
} from '@kubernetes/client-node';
import { type ApiRequest, apiServerOf, apiStatusOf, explainApiError } from './api-error.ts';
import type { InferencePool, InferencePoolSpec } from './inference-pool.ts';
import type { ResourceSource } from './informer.ts';
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

/** The objects of an API server that a `PoolFollower` reads. Without labels, no nodes are read. */
export function poolSources(
  config: KubeConfig,
  { namespace, name, group, version }: PoolName,
  {
    nodeLabels,
    spec,
  }: { readonly nodeLabels: readonly string[]; readonly spec?: InferencePoolSpec | undefined },
): PoolSources {
  return {
    pool:
      spec ??
      objectSource<InferencePool>(config, {
        group,
        version,
        namespace,
        plural: 'inferencepools',
        selector: { fieldSelector: `metadata.name=${name}` },
        lean: (pool) => pool,
      }),
    pods: (labelSelector) => podSource(config, namespace, labelSelector),
    workers: () => podSource(config, namespace, WORKER_SELECTOR),
    nodes: nodeLabels.length === 0 ? undefined : nodeSource(config, nodeLabels),
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
  config: KubeConfig,
  { group, version, namespace, plural, selector, lean }: ObjectKind<T>,
): ResourceSource<T> {
  const api = config.makeApiClient(CustomObjectsApi);
  return resourceSource<T>({
    config,
    what: `${plural}.${group} in namespace ${namespace}`,
    path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
    selector,
    list: () => api.listNamespacedCustomObject({ group, version, namespace, plural, ...selector }),
    lean,
  });
}

function podSource(
  config: KubeConfig,
  namespace: string,
  labelSelector: string,
): ResourceSource<Pod> {
  const api = config.makeApiClient(CoreV1Api);
  return resourceSource<Pod>({
    config,
    what: `pods in namespace ${namespace}`,
    path: `/api/v1/namespaces/${namespace}/pods`,
    selector: { labelSelector },
    list: () => api.listNamespacedPod({ namespace, labelSelector }),
    lean: (pod) => leanPod(pod, [...GROUP_ANNOTATIONS, ...PORT_ANNOTATIONS]),
  });
}

/** Asks for the metadata of nodes, without images, conditions and volumes. */
const METADATA = 'application/json;g=meta.k8s.io;v=v1';
const METADATA_LIST = `${METADATA};as=PartialObjectMetadataList,application/json`;
const METADATA_EACH = `${METADATA};as=PartialObjectMetadata,application/json`;

/** All nodes, with only those of their labels that are in `labels`. */
function nodeSource(config: KubeConfig, labels: readonly string[]): ResourceSource<Node> {
  const api = config.makeApiClient(CoreV1Api);
  return resourceSource<Node>({
    config: accepting(config, METADATA_EACH),
    what: 'nodes, whose labels say where endpoints stand',
    clusterWide: true,
    path: '/api/v1/nodes',
    selector: {},
    list: () => api.listNode({}, setHeaderOptions('Accept', METADATA_LIST)),
    lean: (node) => leanNode(node, labels),
  });
}

/** The same access with another Accept header: the client's watches accept no other headers. */
function accepting(config: KubeConfig, accept: string): KubeConfig {
  const asking: KubeConfig = Object.create(config) as KubeConfig;
  asking.applySecurityAuthentication = async (context: RequestContext) => {
    await config.applySecurityAuthentication(context);
    context.setHeaderParam('Accept', accept);
  };
  return asking;
}

interface Resource<T> {
  readonly config: KubeConfig;
  readonly what: ApiRequest['what'];
  readonly clusterWide?: boolean;
  readonly path: string;
  readonly selector: Readonly<Record<string, string>>;
  /** Resolves to a Kubernetes list. */
  readonly list: () => Promise<unknown>;
  readonly lean: (object: T) => T;
}

interface ListOf<T> {
  readonly items?: readonly T[];
  readonly metadata?: { readonly resourceVersion?: string };
}

type Explain = (verb: ApiRequest['verb'], error: unknown, status?: number) => string;

function resourceSource<T extends KubeObject>(resource: Resource<T>): ResourceSource<T> {
  const { config, what, clusterWide = false, lean } = resource;
  const server = apiServerOf(config);
  const explain: Explain = (verb, error, status) =>
    explainApiError(error, { verb, what, server, clusterWide }, status);
  return {
    list: async () => {
      const listed = await resource.list().catch((error: unknown) => {
        throw new Error(explain('list', error), { cause: error });
      });
      const { items = [], metadata } = listed as ListOf<T>;
      return { items: items.map(lean), resourceVersion: metadata?.resourceVersion ?? '' };
    },
    watch: watchOf(resource, explain),
  };
}

/** Ends a watch as if the server no longer had the version: what was seen cannot be relied on. */
const GONE = 410;

function watchOf<T extends KubeObject>(
  { config, path, selector, lean }: Resource<T>,
  explain: Explain,
): ResourceSource<T>['watch'] {
  return (resourceVersion, observer) => {
    let stopped = false;
    let abort: AbortController | undefined;
    let status: number | undefined;
    const ended = (error: unknown): void => {
      if (stopped) return;
      stopped = true;
      observer.onEnd(status ?? apiStatusOf(error), explain('watch', error, status));
    };
    const onEvent = (type: string, object: T): void => {
      if (stopped) return;
      if (type === 'ERROR') {
        // The server accepts a watch that it refuses, and then sends the refusal as an event. One
        // that does not close the watch after it would leave it silent for ever.
        status = (object as { readonly code?: number }).code;
        ended(new Error((object as { readonly message?: string }).message));
        abort?.abort();
        return;
      }
      observer.onEvent({ type, object: type === 'BOOKMARK' ? object : lean(object) });
    };
    const guarded = (type: string, object: T): void => {
      try {
        onEvent(type, object);
      } catch (error) {
        // The client ignores what is thrown here, and the event would be lost.
        status = GONE;
        ended(error);
        abort?.abort();
      }
    };
    const query = { ...selector, resourceVersion, allowWatchBookmarks: true };
    new Watch(config).watch(path, query, guarded, ended).then((controller) => {
      abort = controller;
      if (stopped) controller.abort();
      else observer.onOpen();
    }, ended);
    return {
      stop: () => {
        stopped = true;
        abort?.abort();
      },
    };
  };
}
