import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Found } from '../support/reference-program.ts';

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

/** For pickers that read the addresses of model servers from a file. */
export function endpointsInFile(folder: string, endpoints: readonly string[]): Found {
  const [configFile, endpointsFile] = [join(folder, 'config.yaml'), join(folder, 'endpoints.yaml')];
  writeFileSync(configFile, CONFIG(endpointsFile));
  writeFileSync(endpointsFile, JSON.stringify({ endpoints: endpoints.map(asEndpoint) }));
  const args = [`--config-file=${configFile}`, '--pool-name=agreement', '--pool-namespace=default'];
  return { args, env: {} };
}

function asEndpoint(address: string, at: number): object {
  const { hostname, port } = new URL(`http://${address}`);
  return { name: `server-${at}`, namespace: 'default', address: hostname, port };
}
