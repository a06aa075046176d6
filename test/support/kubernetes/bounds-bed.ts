import { CoreV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import { INFERENCE_GROUP } from '../../../bench/support/inference-pools.ts';
import { type ApiServer, startApiServer } from '../../../bench/support/kubernetes.ts';
import { ClusterHand, NAMESPACE } from '../../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../../bench/support/stack.ts';
import type { KubernetesDiscovery } from '../../../src/endpoints/discovery/kubernetes/start-kubernetes.ts';
import { RequestRules } from '../../../src/endpoints/rewrites/request-rules.ts';
import { EndpointPool } from '../../../src/picker/pool/endpoint-pool.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { followPool } from './follow-pool.ts';
import { installCrd } from './install-crd.ts';
import { installRuleCrds } from './rule-crds.ts';

/** The group of pools before they had one of their own. */
export const FORMER = 'inference.networking.x-k8s.io';
export const RULES = 'llm-d.ai';
const NAMES = { kind: 'InferencePool', singular: 'inferencepool', plural: 'inferencepools' };
const ANY = { type: 'object', x_kubernetes_preserve_unknown_fields: true };

export interface FollowedPool {
  readonly endpoints: EndpointPool;
  readonly rules: RequestRules;
  readonly discovery: KubernetesDiscovery;
  /** Each `appProtocol` that was reported. */
  readonly protocols: readonly (string | undefined)[];
  /** The endpoints that have left. */
  readonly left: readonly string[];
  /** In order, with spaces between them. */
  readonly addresses: () => string;
  /** Resolves when the addresses are these. */
  readonly settled: (wanted: string) => Promise<string>;
}

/**
 * A real API server with the definitions of pools and rules, and pickers that follow pools of it.
 */
export class BoundsBed {
  readonly server: ApiServer;
  readonly core: CoreV1Api;
  readonly custom: CustomObjectsApi;
  readonly hand: ClusterHand;
  readonly #stops: (() => void)[] = [];

  static async start(binaries: Parameters<typeof startApiServer>[0]): Promise<BoundsBed> {
    const server = await startApiServer(binaries);
    const pools = { names: NAMES, spec: ANY };
    await installCrd(server.config, { ...pools, group: INFERENCE_GROUP, version: 'v1' });
    await installCrd(server.config, { ...pools, group: FORMER, version: 'v1alpha2' });
    await installRuleCrds(server.config, RULES);
    return new BoundsBed(server);
  }

  private constructor(server: ApiServer) {
    this.server = server;
    this.core = server.config.makeApiClient(CoreV1Api);
    this.custom = server.config.makeApiClient(CustomObjectsApi);
    this.hand = new ClusterHand(server.config);
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.server.stop();
  }

  follow(name: string, group: string = INFERENCE_GROUP): FollowedPool {
    const endpoints = new EndpointPool();
    const rules = new RequestRules(seededRandom(1));
    const protocols: (string | undefined)[] = [];
    const left: string[] = [];
    endpoints.observeEndpoints({ onEndpointRemoved: ({ id }) => void left.push(id) });
    const discovery = followPool(this.server.config, {
      pool: { namespace: NAMESPACE, name, group, version: group === FORMER ? 'v1alpha2' : 'v1' },
      onAppProtocol: (each) => void protocols.push(each),
      endpoints,
      rules,
    });
    this.#stops.push(() => discovery.stop());
    const addresses = (): string =>
      endpoints
        .snapshot()
        .map(({ address }) => address)
        .sort()
        .join(' ');
    const settled = (wanted: string): Promise<string> =>
      eventually(addresses, (found) => found === wanted);
    return { endpoints, rules, discovery, protocols, left, addresses, settled };
  }
}

export function portsOf(...numbers: readonly number[]): readonly object[] {
  return numbers.map((number) => ({ number }));
}
