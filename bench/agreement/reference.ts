import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServe } from '../../src/serve/serve.ts';
import { eventually, serveOptions } from '../support/stack.ts';

/** The picker in charge. */
export interface InCharge {
  readonly name: string;
  readonly extProcPort: number;
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

const STOP_MS = 5000;

/** The reference picker where `reference` is its path; else another Pointsman in its place. */
export function startInCharge(
  { reference, standIn }: { readonly reference: string | undefined; readonly standIn: string },
  endpoints: readonly string[],
): Promise<InCharge> {
  return reference === undefined
    ? startStandIn(standIn, endpoints)
    : startReference(reference, endpoints);
}

async function startStandIn(config: string, endpoints: readonly string[]): Promise<InCharge> {
  const serving = await startServe(serveOptions({ endpoints, seed: 2 }, config));
  const { extProcPort } = serving;
  const name = `another Pointsman with ${config} (POINTSMAN_REFERENCE_EPP is not set)`;
  return { name, extProcPort, stop: () => serving.stop() };
}

async function startReference(binary: string, endpoints: readonly string[]): Promise<InCharge> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-agreement-'));
  const [configFile, endpointsFile] = [join(folder, 'config.yaml'), join(folder, 'endpoints.yaml')];
  writeFileSync(configFile, CONFIG(endpointsFile));
  writeFileSync(endpointsFile, JSON.stringify({ endpoints: endpoints.map(asEndpoint) }));
  const [grpc, health, metrics] = [await freePort(), await freePort(), await freePort()];
  const args = [
    `--config-file=${configFile}`,
    '--pool-name=agreement',
    '--pool-namespace=default',
    `--grpc-port=${grpc}`,
    `--grpc-health-port=${health}`,
    `--metrics-port=${metrics}`,
    '--metrics-endpoint-auth=false',
    '--secure-serving=false',
  ];
  const child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const killing = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    if (child.exitCode === null && child.signalCode === null) await ended;
    clearTimeout(killing);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await eventually(
      () => isScraping(metrics),
      (scraping) => scraping || child.exitCode !== null,
    );
    if (child.exitCode !== null) throw new Error(`${binary} ended with code ${child.exitCode}`);
    return { name: binary, extProcPort: grpc, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function asEndpoint(address: string, at: number): object {
  const colon = address.lastIndexOf(':');
  return {
    name: `server-${at}`,
    namespace: 'default',
    address: address.slice(0, colon),
    port: address.slice(colon + 1),
  };
}

/** Whether it has endpoints with fresh metrics. */
async function isScraping(metricsPort: number): Promise<boolean> {
  try {
    const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return /^(?:llm_d_epp_ready_endpoints|inference_pool_ready_pods)\{[^}]*\} [1-9]/m.test(page);
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
