import { OUTLIER_LINES } from './cluster-lines.ts';
import type { EnvoySetup, PickedRoute } from './envoy-setup.ts';
import type { Cluster } from './envoy-types.ts';
import { type Finding, when } from './finding.ts';

/**
 * Before this version, Envoy repeats a gRPC stream without the bytes that exceed its buffer of 64
 * KB.
 */
const WHOLE_RETRIES_SINCE = [1, 37] as const;
/** Envoy's own default: a host that is named again is used after so many choices. */
const CHOICES_DEFAULT = 1;
const CHOICES_MIN = 10;

const RETRY_LINES = [
  'grpc_service:',
  '  retry_policy:',
  '    retry_on: connect-failure,refused-stream,reset',
  '    num_retries: 3',
  '    retry_back_off: { base_interval: 0.01s, max_interval: 0.1s }',
  '    retry_host_predicate:',
  '      - name: envoy.retry_host_predicates.previous_hosts',
  '        typed_config:',
  '          "@type": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate',
  '    host_selection_retry_max_attempts: 30',
];

/** What happens to requests when one of several pickers fails. `version` is that of Envoy. */
export function checkFailover(
  { routes, clusters }: EnvoySetup,
  version: string | undefined,
): readonly Finding[] {
  const picked = routes.filter(({ filter }) => filter.observability_mode !== true);
  const names = new Set(picked.map(({ filter }) => filter.grpc_service?.envoy_grpc?.cluster_name));
  return [
    ...picked.flatMap((route) => retryFindings(route, version)),
    ...[...names].flatMap((name) => outlierFindings(clusters.get(name ?? ''))),
  ];
}

function retryFindings(
  { filter, filterName, name }: PickedRoute,
  version: string | undefined,
): readonly Finding[] {
  const where = `filter ${filterName}, ${name}`;
  const policy = filter.grpc_service?.retry_policy;
  if (policy === undefined) {
    return [
      {
        severity: 'warning',
        id: 'no-picker-retry',
        where,
        what: 'grpc_service has no retry_policy: where a picker has just died, requests fail that another one could serve.',
        lines: RETRY_LINES,
      },
    ];
  }
  const choices = policy.host_selection_retry_max_attempts ?? CHOICES_DEFAULT;
  return [
    ...when(isBefore(version, WHOLE_RETRIES_SINCE), {
      severity: 'error',
      id: 'picker-retry-cuts-bodies',
      where,
      what: `Envoy ${version} gives the stream of a picker that has died to another one without what exceeds 64 KB of the body: the request fails, or is served in part.`,
      mend: `Update Envoy to ${WHOLE_RETRIES_SINCE.join('.')} or later, or take retry_policy out of grpc_service.`,
    }),
    ...when(Number(choices) < CHOICES_MIN, {
      severity: 'warning',
      id: 'picker-retry-same-host',
      where,
      what: `host_selection_retry_max_attempts of the retry_policy is ${choices}: LEAST_REQUEST prefers a picker that has died, because no stream is open there, and retries meet it again.`,
      lines: RETRY_LINES,
    }),
  ];
}

function outlierFindings(cluster: Cluster | undefined): readonly Finding[] {
  const detection = cluster?.outlier_detection;
  const leavesOut =
    detection?.split_external_local_origin_errors === true &&
    (detection.enforcing_consecutive_local_origin_failure ?? 100) > 0;
  return when(cluster !== undefined && !leavesOut, {
    severity: 'warning',
    id: 'no-outlier-detection',
    where: `cluster ${cluster?.name}, of the picker`,
    what: 'it does not leave out a picker whose connections or streams are lost: until the health checks find out, requests to a picker that has died fail where their bodies exceed 64 KB, which Envoy does not repeat.',
    lines: OUTLIER_LINES,
  });
}

function isBefore(version: string | undefined, [major, minor]: readonly [number, number]): boolean {
  const match = /(\d+)\.(\d+)\.\d+/.exec(version ?? '');
  if (match === null) return false;
  const [, ours, oursMinor] = match.map(Number);
  return Number(ours) < major || (Number(ours) === major && Number(oursMinor) < minor);
}
