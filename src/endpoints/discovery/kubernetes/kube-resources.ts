import {
  CoreV1Api,
  CustomObjectsApi,
  type KubeConfig,
  type RequestContext,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { sentenceOf } from './api-error.ts';
import type { KubeObject, ResourceSource } from './informer.ts';
import { leanNode, type Node } from './node.ts';
import { leanPod, type Pod } from './pod.ts';
import { GROUP_ANNOTATIONS, WORKER_SELECTOR } from './pod-group.ts';
import type { PoolSources } from './pool-follower.ts';
import type { InferencePool } from './pool-spec.ts';
import { watchResource } from './watch-resource.ts';

export interface PoolName {
  readonly namespace: string;
  readonly name: string;
  /** Of the API, `inference.networking.k8s.io` unless it is an older one. */
  readonly group: string;
  readonly version: string;
}

/** What a pool's follower follows, from an API server. */
export function poolSources(
  config: KubeConfig,
  pool: PoolName,
  nodeLabels: readonly string[],
): PoolSources {
  const { namespace } = pool;
  return {
    pool: poolSource(config, pool),
    pods: (labelSelector) => podSource(config, { namespace, labelSelector }),
    workers: () => podSource(config, { namespace, labelSelector: WORKER_SELECTOR }),
    nodes: nodeLabels.length === 0 ? undefined : nodeSource(config, nodeLabels),
  };
}

/** One InferencePool. */
export function poolSource(
  config: KubeConfig,
  { namespace, name, group, version }: PoolName,
): ResourceSource<InferencePool> {
  const selector = { fieldSelector: `metadata.name=${name}` };
  const kind = { group, version, namespace, plural: 'inferencepools', selector };
  return objectSource<InferencePool>(config, { ...kind, lean: (pool) => pool });
}

export interface ObjectKind<T> {
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly plural: string;
  readonly selector: Readonly<Record<string, string>>;
  /** An object with what is kept of it. */
  readonly lean: (object: T) => T;
}

/** Objects of a namespace whose kind a CRD defines. */
export function objectSource<T extends KubeObject>(
  config: KubeConfig,
  { group, version, namespace, plural, selector, lean }: ObjectKind<T>,
): ResourceSource<T> {
  const api = config.makeApiClient(CustomObjectsApi);
  return resource<T>({
    config,
    what: `${plural}.${group} in namespace ${namespace}`,
    path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
    selector,
    list: () => api.listNamespacedCustomObject({ group, version, namespace, plural, ...selector }),
    lean,
  });
}

/** Pods of a namespace by their labels. */
export function podSource(
  config: KubeConfig,
  { namespace, labelSelector }: { readonly namespace: string; readonly labelSelector: string },
): ResourceSource<Pod> {
  const api = config.makeApiClient(CoreV1Api);
  return resource<Pod>({
    config,
    what: `pods in namespace ${namespace}`,
    path: `/api/v1/namespaces/${namespace}/pods`,
    selector: { labelSelector },
    list: () => api.listNamespacedPod({ namespace, labelSelector }),
    lean: (pod) => leanPod(pod, GROUP_ANNOTATIONS),
  });
}

/** What is asked of nodes: their metadata, without images, conditions and volumes. */
const METADATA = 'application/json;g=meta.k8s.io;v=v1';
const METADATA_LIST = `${METADATA};as=PartialObjectMetadataList,application/json`;
const METADATA_EACH = `${METADATA};as=PartialObjectMetadata,application/json`;

/** All nodes, with the labels named and no others. */
export function nodeSource(config: KubeConfig, labels: readonly string[]): ResourceSource<Node> {
  const api = config.makeApiClient(CoreV1Api);
  return resource<Node>({
    config: accepting(config, METADATA_EACH),
    what: 'nodes, whose labels say where endpoints stand',
    clusterWide: true,
    path: '/api/v1/nodes',
    selector: {},
    list: () => api.listNode({}, setHeaderOptions('Accept', METADATA_LIST)),
    lean: (node) => leanNode(node, labels),
  });
}

interface Resource<T> {
  readonly config: KubeConfig;
  readonly what: string;
  readonly clusterWide?: boolean;
  readonly path: string;
  readonly selector: Readonly<Record<string, string>>;
  /** Gives a Kubernetes list. */
  readonly list: () => Promise<unknown>;
  /** An object with what is kept of it. */
  readonly lean: (object: T) => T;
}

function resource<T extends KubeObject>(kind: Resource<T>): ResourceSource<T> {
  const { config, what, clusterWide = false, path, selector, lean } = kind;
  const server = config.getCurrentCluster()?.server ?? '(none in the kubeconfig)';
  const explained = (verb: 'list' | 'watch', error: unknown, code?: number): string =>
    sentenceOf(error, { verb, what, server, clusterWide }, code);
  return {
    list: async () => {
      const listed = await kind.list().catch((error: unknown) => {
        throw new Error(explained('list', error), { cause: error });
      });
      const { items = [], metadata } = listed as ListOf<T>;
      return { items: items.map(lean), resourceVersion: metadata?.resourceVersion ?? '' };
    },
    watch: watchResource({ config, path, selector, lean, explained }),
  };
}

interface ListOf<T> {
  readonly items?: readonly T[];
  readonly metadata?: { readonly resourceVersion?: string };
}

/** The same way to the API server, with another answer asked for: the client's watches have no headers of their own. */
function accepting(config: KubeConfig, accept: string): KubeConfig {
  const asking: KubeConfig = Object.create(config) as KubeConfig;
  asking.applySecurityAuthentication = async (context: RequestContext) => {
    await config.applySecurityAuthentication(context);
    context.setHeaderParam('Accept', accept);
  };
  return asking;
}
