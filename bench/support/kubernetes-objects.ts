import {
  CoreV1Api,
  CustomObjectsApi,
  type KubeConfig,
  PatchStrategy,
  setHeaderOptions,
  type V1Pod,
} from '@kubernetes/client-node';
import { INFERENCE_GROUP } from './inference-pools.ts';

export const NAMESPACE = 'default';

const WHERE = {
  group: INFERENCE_GROUP,
  version: 'v1',
  namespace: NAMESPACE,
  plural: 'inferencepools',
};
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

export interface PodSpec {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ip: string;
  readonly node?: string;
}

/** Creates and changes objects in place of a cluster's controllers and kubelets. */
export class ClusterHand {
  readonly #core: CoreV1Api;
  readonly #custom: CustomObjectsApi;

  constructor(config: KubeConfig) {
    this.#core = config.makeApiClient(CoreV1Api);
    this.#custom = config.makeApiClient(CustomObjectsApi);
  }

  async createPool(spec: object, name = 'pool'): Promise<void> {
    const body = {
      apiVersion: `${INFERENCE_GROUP}/v1`,
      kind: 'InferencePool',
      metadata: { name },
      spec,
    };
    await this.#custom.createNamespacedCustomObject({ ...WHERE, body });
  }

  async patchPool(spec: object, name = 'pool'): Promise<void> {
    await this.#custom.patchNamespacedCustomObject({ ...WHERE, name, body: { spec } }, merge);
  }

  async deletePool(name = 'pool'): Promise<void> {
    await this.#custom.deleteNamespacedCustomObject({ ...WHERE, name });
  }

  /** Creates a pod without a status. */
  async createPod(name: string, { labels, annotations = {}, node }: PodSpec): Promise<void> {
    const body: V1Pod = {
      metadata: { name, labels: { ...labels }, annotations: { ...annotations } },
      spec: {
        containers: [{ name: 'engine', image: 'engine' }],
        ...(node !== undefined && { nodeName: node }),
      },
    };
    await this.#core.createNamespacedPod({ namespace: NAMESPACE, body });
  }

  async createReadyPod(name: string, spec: PodSpec): Promise<void> {
    await this.createPod(name, spec);
    await this.setReady(name, true, spec.ip);
  }

  async setReady(name: string, ready: boolean, ip?: string): Promise<void> {
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
    const status = { phase: 'Running', conditions, ...(ip && { podIP: ip, podIPs: [{ ip }] }) };
    await this.#core.patchNamespacedPodStatus(
      { name, namespace: NAMESPACE, body: { status } },
      merge,
    );
  }

  /** Makes the pod one that is ready and about to be evicted. */
  async disrupt(name: string): Promise<void> {
    const conditions = ['Ready', 'DisruptionTarget'].map((type) => ({ type, status: 'True' }));
    const body = { status: { conditions } };
    await this.#core.patchNamespacedPodStatus({ name, namespace: NAMESPACE, body }, merge);
  }

  async deletePod(name: string, gracePeriodSeconds = 0): Promise<void> {
    await this.#core.deleteNamespacedPod({ name, namespace: NAMESPACE, gracePeriodSeconds });
  }

  async createNode(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.#core.createNode({ body: { metadata: { name, labels: { ...labels } } } });
  }

  async labelNode(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.#core.patchNode({ name, body: { metadata: { labels } } }, merge);
  }
}
