import type { Endpoint, EndpointId } from '../../../framework/endpoint.ts';
import { endpointLabels } from '../page/family.ts';

/**
 * Names without their namespace, as the reference shows them, so that queries can join with
 * `endpoint_name`. Where two namespaces have the same name both keep theirs: a series may be there
 * only once.
 */
export function shortNames(endpoints: readonly Endpoint[]): (id: EndpointId) => string {
  const nameOf = (id: EndpointId): string => endpointLabels(id).endpoint_name;
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const { id } of endpoints) {
    const name = nameOf(id);
    if (seen.has(name)) twice.add(name);
    seen.add(name);
  }
  return (id) => (twice.has(nameOf(id)) ? id : nameOf(id));
}
