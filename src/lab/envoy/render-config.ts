import { readFileSync } from 'node:fs';
import { type Document, parseDocument } from 'yaml';
import { packageFile } from '../../files/folders.ts';

export interface EnvoyConfigOptions {
  /** Which of the shipped wirings in `deploy/`. */
  readonly wiring: 'envoy' | 'envoy-efficient' | 'envoy-observer';
  /** Addresses are loopback; 0 takes a free port, here and below. */
  readonly listenerPort: number;
  readonly adminPort?: number;
  /** `host:port`, an IPv6 host in brackets. */
  readonly extProcAddress: string;
  /** Of `envoy-observer`, the second ext_proc server, in the same form. */
  readonly observerAddress?: string;
  /** TLS without verification, as towards a picker with a certificate of its own. */
  readonly extProcTls?: boolean;
  readonly failureModeAllow?: boolean;
  readonly bufferLimitBytes?: number;
  /** Last changes, such as a filter of a test's own. */
  readonly edit?: (config: Document) => void;
}

/** Where things stand in the shipped files. */
export const LISTENER: readonly (string | number)[] = ['static_resources', 'listeners', 0];
export const CONNECTION_MANAGER: readonly (string | number)[] = [
  ...LISTENER,
  'filter_chains',
  0,
  'filters',
  0,
  'typed_config',
];
const EXT_PROC = [...CONNECTION_MANAGER, 'http_filters', 0, 'typed_config'];
const EXT_PROC_CLUSTER = ['static_resources', 'clusters', 1];
const OBSERVER_CLUSTER = ['static_resources', 'clusters', 2];
const CLUSTER_SOCKET = [
  'load_assignment',
  'endpoints',
  0,
  'lb_endpoints',
  0,
  'endpoint',
  'address',
  'socket_address',
];

const TLS_UNVERIFIED = {
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
    common_tls_context: {
      alpn_protocols: ['h2'],
      validation_context: { trust_chain_verification: 'ACCEPT_UNTRUSTED' },
    },
  },
};

/** A shipped Envoy configuration as YAML, with this run's ports and addresses in it: what ships is what is tested. */
export function renderEnvoyConfig(options: EnvoyConfigOptions): string {
  const { wiring, listenerPort, adminPort = 0, extProcTls = false } = options;
  const config = parseDocument(readFileSync(packageFile(`deploy/${wiring}.yaml`), 'utf8'));
  replace(config, ['admin', 'address', 'socket_address', 'port_value'], adminPort);
  replace(config, [...LISTENER, 'address', 'socket_address'], {
    address: '127.0.0.1',
    port_value: listenerPort,
  });
  replace(config, [...EXT_PROC_CLUSTER, ...CLUSTER_SOCKET], socketOf(options.extProcAddress));
  if (options.observerAddress !== undefined) {
    replace(config, [...OBSERVER_CLUSTER, ...CLUSTER_SOCKET], socketOf(options.observerAddress));
  }
  if (extProcTls) config.setIn([...EXT_PROC_CLUSTER, 'transport_socket'], TLS_UNVERIFIED);
  if (options.failureModeAllow !== undefined) {
    replace(config, [...EXT_PROC, 'failure_mode_allow'], options.failureModeAllow);
  }
  if (options.bufferLimitBytes !== undefined) {
    const path = [...LISTENER, 'per_connection_buffer_limit_bytes'];
    replace(config, path, options.bufferLimitBytes);
  }
  options.edit?.(config);
  return config.toString();
}

/** Only what is there: a file that has moved on is a mistake of ours, not a second setting beside the first. */
function replace(config: Document, path: readonly (string | number)[], value: unknown): void {
  if (!config.hasIn(path))
    throw new Error(`the shipped Envoy configuration has no ${path.join('.')}`);
  config.setIn(path, config.createNode(value));
}

function socketOf(address: string): { readonly address: string; readonly port_value: number } {
  const match = /^(?:\[(?<six>[^\]]+)\]|(?<four>[^:]+)):(?<port>\d+)$/.exec(address);
  const host = match?.groups?.['six'] ?? match?.groups?.['four'];
  const port = Number(match?.groups?.['port']);
  if (host === undefined || port > 65_535) {
    throw new Error(`the picker's address ${JSON.stringify(address)} is not host:port`);
  }
  return { address: host, port_value: port };
}
