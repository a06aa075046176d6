/** Lines to paste into clusters of Envoy. Several findings offer the same. */

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
