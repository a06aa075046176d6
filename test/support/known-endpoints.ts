import type { Document } from 'yaml';

const ENDPOINTS = ['load_assignment', 'endpoints', 0, 'lb_endpoints'];

/** Names the servers, as `host:port`, in the cluster of deploy/envoy-fallbacks.yaml. */
export function setKnownEndpoints(document: Document, addresses: readonly string[]): void {
  const endpoints = addresses.map((text) => {
    const [address, port] = text.split(':');
    return { endpoint: { address: { socket_address: { address, port_value: Number(port) } } } };
  });
  const cluster = ['static_resources', 'clusters', 0, ...ENDPOINTS];
  document.setIn(cluster, document.createNode(endpoints));
}
