import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StubPool } from '../../../stub-server/pool.ts';

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
/** The second has plugins that fail, the third is no configuration. */
export const CONFIGS: readonly string[] = [
  `${HEAD}plugins: [{ type: predicted-cost-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: predicted-cost-scorer }] }]
`,
  `${HEAD}plugins: [{ type: broken-filter }, { type: broken-scorer }, { type: queue-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: broken-filter }, { pluginRef: broken-scorer }, { pluginRef: queue-scorer }] }]
`,
  `${HEAD}plugins: [{ type: no-such-scorer }`,
  `${HEAD}featureGates: [flowControl]
plugins: [{ type: queue-scorer }]
flowControl: { maxRequests: 20, defaultRequestTTL: 500ms, noEndpointRequestTTL: 500ms }
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: queue-scorer }] }]
`,
];

/** Writes the endpoints file with those servers that `isThere` says. */
export function writeEndpoints(folder: string, servers: StubPool, isThere: () => boolean): void {
  const lines = servers.endpoints.flatMap(({ address }, at) => {
    const [host, port] = address.split(':');
    return isThere() ? [`  - { name: s${at}, address: ${host}, port: ${port} }`] : [];
  });
  writeWhole(join(folder, 'endpoints.yaml'), `endpoints:\n${lines.join('\n')}\n`);
}

/** Writes the configuration file. */
export const writeConfig = (folder: string, text: string): void =>
  writeWhole(join(folder, 'config.yaml'), text);

/** Readers see the file before or after, never a part of it. */
function writeWhole(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
