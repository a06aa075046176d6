import type { EndpointId } from '../../framework/endpoint.ts';

/** The reference's labels of an endpoint; a namespace is what stands before the first slash of an id, if one does. */
export function endpointLabels(id: EndpointId): {
  readonly endpoint_name: string;
  readonly namespace: string;
} {
  const slash = id.indexOf('/');
  return { endpoint_name: id.slice(slash + 1), namespace: id.slice(0, Math.max(0, slash)) };
}
