import type { Document } from 'yaml';

const ENDPOINTS = ['load_assignment', 'endpoints', 0, 'lb_endpoints'];

/** Names the servers, as `host:port`, in the cluster of deploy/envoy-fallbacks.yaml. */
export function setKnownEndpoints(document: Document, addresses: readonly string[]): void {
  const cluster = ['static_resources', 'clusters', 0, ...ENDPOINTS];
  document.setIn(cluster, document.createNode(endpointsAt(addresses)));
}

/** Endpoints of a cluster of Envoy, at addresses of the form `host:port`. */
export function endpointsAt(addresses: readonly string[]): readonly object[] {
  return addresses.map((text) => {
    const [address, port] = text.split(':');
    return { endpoint: { address: { socket_address: { address, port_value: Number(port) } } } };
  });
}
