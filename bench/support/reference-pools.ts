import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installInferencePools } from './inference-pools.ts';
import { startApiServer } from './kubernetes.ts';
import type { KubernetesBinaries } from './kubernetes-binaries.ts';
import { ClusterHand, NAMESPACE } from './kubernetes-objects.ts';
import type { Found } from './reference-program.ts';

/** An InferencePool has no more ports. */
export const PORTS_MAX = 8;

/** A real API server with the InferencePools by which reference pickers find model servers. */
export interface ReferencePools {
  /** Makes a pool of model servers (`host:port`): each host is a ready pod, with each port. */
  createPool(name: string, endpoints: readonly string[]): Promise<Found>;
  stop(): Promise<void>;
}

/** Writes a kubeconfig into the folder. */
export async function startReferencePools(
  folder: string,
  binaries: KubernetesBinaries,
): Promise<ReferencePools> {
  const apiServer = await startApiServer(binaries);
  const kubeconfig = join(folder, 'kubeconfig');
  try {
    await installInferencePools(apiServer);
    writeFileSync(kubeconfig, apiServer.config.exportConfig());
  } catch (error) {
    await apiServer.stop();
    throw error;
  }
  const cluster = new ClusterHand(apiServer.config);
  return {
    createPool: async (name, endpoints) => {
      const { hosts, ports } = podsOf(endpoints);
      const labels = { app: name };
      const pool = {
        selector: { matchLabels: labels },
        targetPorts: ports.map((number) => ({ number })),
        endpointPickerRef: { name: 'picker', port: { number: 9002 } },
      };
      await cluster.createPool(pool, name);
      for (const [at, ip] of hosts.entries()) {
        await cluster.createReadyPod(`${name}-${at}`, { labels, ip });
      }
      return { args: argsFor(name), env: { KUBECONFIG: kubeconfig } };
    },
    stop: () => apiServer.stop(),
  };
}

/** As the reference's chart has them, without its traces. */
function argsFor(pool: string): readonly string[] {
  return [
    `--pool-name=${pool}`,
    `--pool-namespace=${NAMESPACE}`,
    '--zap-encoder=json',
    '--v=1',
    '--tracing=false',
    '--health-checking',
  ];
}

/**
 * The pods that have exactly these endpoints. Throws where a host lacks a port that another has, or
 * where there are more than 8 ports: all pods of an InferencePool have the same ports.
 */
export function podsOf(endpoints: readonly string[]): {
  readonly hosts: readonly string[];
  readonly ports: readonly number[];
} {
  const urls = endpoints.map((address) => new URL(`http://${address}`));
  const hosts = [...new Set(urls.map(({ hostname }) => hostname))];
  const ports = [...new Set(urls.map(({ port }) => Number(port)))];
  if (ports.length > PORTS_MAX) {
    throw new Error(
      `an InferencePool has at most ${PORTS_MAX} ports, and these are ${ports.length}`,
    );
  }
  if (hosts.length * ports.length !== new Set(endpoints).size) {
    throw new Error(
      `an InferencePool has the same ports at each pod, but ${hosts.length} hosts with ` +
        `${ports.length} ports are not ${endpoints.length} endpoints`,
    );
  }
  return { hosts, ports };
}
