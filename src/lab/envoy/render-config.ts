import { readFileSync } from 'node:fs';
import { type Document, parseDocument } from 'yaml';
import { packageFile } from '../../files/folders.ts';

export interface EnvoyConfigOptions {
  /** Name of a shipped configuration in `deploy/`. */
  readonly wiring: 'envoy' | 'envoy-efficient' | 'envoy-observer' | 'envoy-fallbacks';
  /** On the loopback address; 0 selects a free port, here and below. */
  readonly listenerPort: number;
  readonly adminPort?: number;
  /** `host:port`, an IPv6 host in brackets. */
  readonly extProcAddress: string;
  /** The second ext_proc server of `envoy-observer`, in the same form. */
  readonly observerAddress?: string;
  /** TLS without verification, for a picker with a self-signed certificate. */
  readonly extProcTls?: boolean;
  readonly failureModeAllow?: boolean;
  readonly bufferLimitBytes?: number;
  /** Makes further changes, such as a filter for a test. */
  readonly edit?: (config: Document) => void;
}

/** Paths in the shipped files. */
const LISTENER: readonly (string | number)[] = ['static_resources', 'listeners', 0];
const FIRST_FILTER = ['filter_chains', 0, 'filters', 0, 'typed_config'];
export const CONNECTION_MANAGER: readonly (string | number)[] = [...LISTENER, ...FIRST_FILTER];
const EXT_PROC = [...CONNECTION_MANAGER, 'http_filters', 0, 'typed_config'];
const EXT_PROC_CLUSTER = ['static_resources', 'clusters', 1];
const OBSERVER_CLUSTER = ['static_resources', 'clusters', 2];
const FIRST_ENDPOINT = ['load_assignment', 'endpoints', 0, 'lb_endpoints', 0, 'endpoint'];
const CLUSTER_SOCKET = [...FIRST_ENDPOINT, 'address', 'socket_address'];

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

/** A shipped Envoy configuration as YAML, with other ports and addresses. */
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

/** Throws if there is no value at the path, because a changed file would get a second setting. */
function replace(config: Document, path: readonly (string | number)[], value: unknown): void {
  if (!config.hasIn(path)) {
    throw new Error(`the shipped Envoy configuration has no ${path.join('.')}`);
  }
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
