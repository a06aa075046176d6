/** Lines to paste into Envoy’s configuration. Several findings offer the same. */

import type { HttpOptions } from './envoy-types.ts';

export const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/** Room for as many requests as a pool can have. */
export const BREAKER_LINES: readonly string[] = [
  'circuit_breakers:',
  '  thresholds:',
  '    - { max_connections: 40000, max_pending_requests: 40000, max_requests: 40000, max_retries: 1000 }',
];

/**
 * HTTP options of a cluster that has the options `given`. Envoy asks for a version of HTTP in them,
 * which stays as it is where there is one.
 */
export function httpOptionLines(given: HttpOptions | undefined, option: string): readonly string[] {
  return [
    'typed_extension_protocol_options:',
    `  ${HTTP_OPTIONS}:`,
    `    "@type": type.googleapis.com/${HTTP_OPTIONS}`,
    `    common_http_protocol_options: { ${option} }`,
    ...(given === undefined ? ['    explicit_http_config: { http_protocol_options: {} }'] : []),
  ];
}

/** Connections to model servers, which end before uvicorn closes them. */
export function keepAliveLines(given: HttpOptions | undefined): readonly string[] {
  return httpOptionLines(given, 'idle_timeout: 4s');
}

export const KEEPALIVE = 'connection_keepalive: { interval: 1s, timeout: 5s }';

/** HTTP/2 to the picker, with these options, where a cluster has the version `given`. */
export function http2Lines(
  lines: readonly string[],
  given: HttpOptions['explicit_http_config'] = {},
): readonly string[] {
  const isHttp1 = given.http_protocol_options !== undefined;
  return [
    'typed_extension_protocol_options:',
    `  ${HTTP_OPTIONS}:`,
    `    "@type": type.googleapis.com/${HTTP_OPTIONS}`,
    '    explicit_http_config:',
    `      http2_protocol_options:${isHttp1 ? '   # in place of http_protocol_options' : ''}`,
    ...lines.map((line) => `        ${line}`),
  ];
}

/** TLS to a picker that made its certificate itself. */
export const TLS_LINES: readonly string[] = [
  'transport_socket:',
  '  name: envoy.transport_sockets.tls',
  '  typed_config:',
  '    "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
  '    common_tls_context:',
  '      alpn_protocols: [h2]',
  '      validation_context: { trust_chain_verification: ACCEPT_UNTRUSTED }',
];

/** Health checks of the picker. */
export const HEALTH_LINES: readonly string[] = [
  'health_checks:',
  '  - timeout: 2s',
  '    interval: 2s',
  '    unhealthy_threshold: 2',
  '    healthy_threshold: 1',
  '    grpc_health_check: { service_name: envoy.service.ext_proc.v3.ExternalProcessor }',
];

export const PANIC_LINES: readonly string[] = [
  'common_lb_config: { healthy_panic_threshold: { value: 0 } }',
];

/** Leaves out a picker that does not answer. */
export const OUTLIER_LINES: readonly string[] = [
  'outlier_detection:',
  '  split_external_local_origin_errors: true',
  '  consecutive_local_origin_failure: 3',
  '  enforcing_consecutive_local_origin_failure: 100',
  '  enforcing_local_origin_success_rate: 0',
  '  enforcing_consecutive_5xx: 0',
  '  enforcing_success_rate: 0',
  '  interval: 1s',
  '  base_ejection_time: 10s',
  '  max_ejection_percent: 99',
  'common_lb_config: { healthy_panic_threshold: { value: 0 }, update_merge_window: 0s }',
];

/** A whole cluster of this name for the picker of this machine. */
export function pickerClusterLines(name: string): readonly string[] {
  return [
    `- name: ${name}`,
    '  type: STRICT_DNS',
    '  connect_timeout: 5s',
    '  load_assignment:',
    `    cluster_name: ${name}`,
    '    endpoints:',
    '      - lb_endpoints:',
    '          - endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: 9002 } } }',
    ...[...http2Lines([KEEPALIVE]), ...BREAKER_LINES, ...OUTLIER_LINES, ...HEALTH_LINES].map(
      (line) => `  ${line}`,
    ),
  ];
}

/** The filter of deploy/envoy.yaml that asks the picker. */
export const FILTER_LINES: readonly string[] = [
  '- name: envoy.filters.http.ext_proc',
  '  typed_config:',
  '    "@type": type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor',
  '    grpc_service: { envoy_grpc: { cluster_name: ext_proc }, timeout: 86400s }',
  '    message_timeout: 1000s',
  '    failure_mode_allow: false',
  '    processing_mode:',
  '      request_header_mode: SEND',
  '      request_body_mode: FULL_DUPLEX_STREAMED',
  '      request_trailer_mode: SEND',
  '      response_header_mode: SEND',
  '      response_body_mode: FULL_DUPLEX_STREAMED',
  '      response_trailer_mode: SEND',
];
