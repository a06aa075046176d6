import { objectSource, type PacedServer, resourceSource } from '../api/object-source.ts';
import type { ResourceSource } from '../watch/informer.ts';
import { leanNode, leanPod, type Node, type Pod } from '../watch/kube-objects.ts';
import { type InferencePool, type InferencePoolSpec, leanPool } from './inference-pool.ts';
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
