import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, type Document, parseDocument, type YAMLMap } from 'yaml';

/** The shipped configurations by name. */
export type EnvoyConfigName = 'envoy' | 'envoy-efficient';

export interface EnvoyConfigOptions {
  readonly name: EnvoyConfigName;
  readonly listenPort: number;
  readonly adminPort: number;
  readonly pickerPort: number;
  /** The picker speaks TLS. */
  readonly tls: boolean;
  readonly failureModeAllow?: boolean;
}

/** A shipped configuration with this run's ports in it: what is tested is what is shipped. */
export function envoyConfig(options: EnvoyConfigOptions): string {
  const file = join(import.meta.dirname, '..', '..', 'deploy', `${options.name}.yaml`);
  const document = parseDocument(readFileSync(existing(file), 'utf8'));
  const local = { address: '127.0.0.1' };
  document.setIn(['admin', 'address', 'socket_address'], { ...local, port_value: options.adminPort });
  const listener = ['static_resources', 'listeners', 0];
  document.setIn([...listener, 'address', 'socket_address'], { ...local, port_value: options.listenPort });
  const manager = [...listener, 'filter_chains', 0, 'filters', 0, 'typed_config'];
  if (options.failureModeAllow !== undefined) {
    const extProc = [...manager, 'http_filters', 0, 'typed_config', 'failure_mode_allow'];
    document.setIn(extProc, options.failureModeAllow);
  }
  const picker = pickerCluster(document);
  picker.setIn(
    ['load_assignment', 'endpoints', 0, 'lb_endpoints', 0, 'endpoint', 'address', 'socket_address'],
    { ...local, port_value: options.pickerPort },
  );
  if (!options.tls) picker.delete('transport_socket');
  return document.toString();
}

/** Built, this file lies one folder deeper. */
function existing(file: string): string {
  return file.includes(`${join('dist', 'deploy')}`) ? file.replace(join('dist', 'deploy'), 'deploy') : file;
}

function pickerCluster(document: Document): YAMLMap {
  const cluster = document.getIn(['static_resources', 'clusters', 1]);
  if (!isMap(cluster) || cluster.get('name') !== 'picker') {
    throw new Error('the second cluster of the shipped Envoy configuration is not picker');
  }
  return cluster;
}
