import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installInferencePools } from '../support/inference-pools.ts';
import { startApiServer } from '../support/kubernetes.ts';
import type { KubernetesBinaries } from '../support/kubernetes-binaries.ts';
import { ClusterHand, NAMESPACE } from '../support/kubernetes-objects.ts';

/** How a reference picker is to find the model servers. */
export interface Found {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** The reference's built-in configuration, with the endpoints from a file in place of a cluster. */
const CONFIG = (path: string): string => `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: file-discovery
  parameters: { path: ${JSON.stringify(path)} }
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
schedulingProfiles:
- name: default
  plugins:
  - { pluginRef: queue-scorer, weight: 2 }
  - { pluginRef: kv-cache-utilization-scorer, weight: 2 }
  - { pluginRef: prefix-cache-scorer, weight: 3 }
dataLayer:
  discovery: { pluginRef: file-discovery }
`;

export function endpointsInFile(folder: string, endpoints: readonly string[]): Found {
  const [configFile, endpointsFile] = [join(folder, 'config.yaml'), join(folder, 'endpoints.yaml')];
  writeFileSync(configFile, CONFIG(endpointsFile));
  writeFileSync(endpointsFile, JSON.stringify({ endpoints: endpoints.map(asEndpoint) }));
  const args = [`--config-file=${configFile}`, '--pool-name=agreement', '--pool-namespace=default'];
  return { args, env: {}, stop: () => Promise.resolve() };
}

function asEndpoint(address: string, at: number): object {
  const { hostname, port } = new URL(`http://${address}`);
  return { name: `server-${at}`, namespace: 'default', address: hostname, port };
}

/** Ports of one pool: an InferencePool has no more. */
export const PORTS_MAX = 8;
const POOL = 'agreement';
const LABELS = { app: POOL };

/** A real API server with an InferencePool of one pod, of which each port is a model server. */
export async function endpointsAsPod(
  folder: string,
  endpoints: readonly string[],
  binaries: KubernetesBinaries,
): Promise<Found> {
  const apiServer = await startApiServer(binaries);
  try {
    await installInferencePools(apiServer);
    const cluster = new ClusterHand(apiServer.config);
    const ports = endpoints.map((address) => Number(new URL(`http://${address}`).port));
    const pool = {
      selector: { matchLabels: LABELS },
      targetPorts: ports.map((number) => ({ number })),
      endpointPickerRef: { name: 'picker', port: { number: 9002 } },
    };
    await cluster.createPool(pool, POOL);
    await cluster.createReadyPod('servers', { labels: LABELS, ip: '127.0.0.1' });
  } catch (error) {
    await apiServer.stop();
    throw error;
  }
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, apiServer.config.exportConfig());
  return {
    args: [
      `--pool-name=${POOL}`,
      `--pool-namespace=${NAMESPACE}`,
      '--tracing=false',
      '--health-checking',
    ],
    env: { KUBECONFIG: kubeconfig },
    stop: () => apiServer.stop(),
  };
}
