import { type Document, isSeq } from 'yaml';
import { CONNECTION_MANAGER } from '../../src/lab/envoy/render-config.ts';

/**
 * An Envoy filter before the picker's that turns the header `x-test-subset` into the subset hint,
 * as gateways do.
 */
export function withSubsetFilter(config: Document): void {
  const filters = config.getIn([...CONNECTION_MANAGER, 'http_filters']);
  if (!isSeq(filters)) throw new Error('the shipped configuration has no list of filters');
  const rule = {
    header: 'x-test-subset',
    on_header_present: {
      metadata_namespace: 'envoy.lb.subset_hint',
      key: 'x-gateway-destination-endpoint-subset',
      type: 'STRING',
    },
  };
  const type = 'envoy.extensions.filters.http.header_to_metadata.v3.Config';
  filters.items.unshift(
    config.createNode({
      name: 'subset',
      typed_config: { '@type': `type.googleapis.com/${type}`, request_rules: [rule] },
    }),
  );
}
