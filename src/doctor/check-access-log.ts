import type { PickedRoute } from './envoy-setup.ts';
import type { AccessLog, ExtProc } from './envoy-types.ts';
import { type Finding, when } from './finding.ts';

const GRPC_LOG = 'envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig';
/** An entry of a connection that the server has ended; entries of others may be left out. */
const SERVER_ENDED = 'UC';
/** An entry has more bytes: it is sent at once. Envoy’s default is 16 KB, or a second. */
const BUFFER_BYTES_MAX = 100;

/** Whether the picker learns of answers that a server breaks off. */
export function accessLogFindings({
  filter,
  manager,
}: PickedRoute): readonly Omit<Finding, 'where'>[] {
  const cluster = clusterOf(filter);
  if (cluster === undefined) return [];
  // Beside a picker that does not take entries, an observer may have them.
  const pickers = (manager.http_filters ?? []).map(({ typed_config: other }) => clusterOf(other));
  const logs = manager.access_log ?? [];
  return when(!logs.some((log) => tellsAtOnce(log, [cluster, ...pickers])), {
    severity: 'warning',
    id: 'cut-answers-not-seen',
    what: 'Envoy sends the picker no access log, which would say at once which answers their server broke off: it takes such clients as gone, and does not eject the server.',
    mend: 'Add this to the access logs:',
    lines: [
      'access_log:   # of the HTTP connection manager',
      '  - name: envoy.access_loggers.http_grpc',
      '    filter: { response_flag_filter: { flags: [UC, UR, UPE] } }',
      '    typed_config:',
      `      "@type": type.googleapis.com/${GRPC_LOG}`,
      '      common_config:',
      '        log_name: pointsman',
      '        transport_api_version: V3',
      '        buffer_size_bytes: 0',
      `        grpc_service: { envoy_grpc: { cluster_name: ${JSON.stringify(cluster)} } }`,
    ],
  });
}

function clusterOf(filter: ExtProc | undefined): string | undefined {
  return filter?.grpc_service?.envoy_grpc?.cluster_name;
}

function tellsAtOnce(
  { filter, typed_config: config }: AccessLog,
  pickers: readonly (string | undefined)[],
): boolean {
  const { grpc_service: service, buffer_size_bytes: bytes } = config?.common_config ?? {};
  const flags = filter?.response_flag_filter?.flags ?? [SERVER_ENDED];
  return (
    config?.['@type']?.endsWith(GRPC_LOG) === true &&
    service?.envoy_grpc?.cluster_name !== undefined &&
    pickers.includes(service.envoy_grpc.cluster_name) &&
    bytes !== undefined &&
    bytes <= BUFFER_BYTES_MAX &&
    flags.includes(SERVER_ENDED)
  );
}
