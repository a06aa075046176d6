import type { Document } from 'yaml';

const TYPE = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
const OPTIONS = ['static_resources', 'clusters', 0, 'typed_extension_protocol_options', TYPE];

/** Has Envoy speak HTTP/2 to the servers of its first cluster. */
export function speakHttp2(config: Document): void {
  config.setIn([...OPTIONS, 'explicit_http_config'], { http2_protocol_options: {} });
}
