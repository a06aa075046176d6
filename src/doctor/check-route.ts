import { BREAKER_LINES, keepAliveLines } from './cluster-lines.ts';
import type { EnvoySetup, PickedRoute } from './envoy-setup.ts';
import { type Cluster, type RouteAction, secondsOf } from './envoy-types.ts';
import { type Finding, when } from './finding.ts';

const DESTINATION_HEADER = 'x-gateway-destination-endpoint';
/** Envoy's own defaults. */
const ROUTE_TIMEOUT_S = 15;
const IDLE_TIMEOUT_S = 300;
/** Long answers and long prompts take minutes. */
const ANSWER_SECONDS_MIN = 3600;
const IDLE_SECONDS_MIN = 600;

/** What is wrong with the limits of time of a route, and with where it leads. */
export function checkRoute(picked: PickedRoute, setup: EnvoySetup): readonly Finding[] {
  if (picked.filter.observability_mode === true) return [];
  const { route = {} } = picked.route;
  return [
    ...timeFindings(picked, route),
    ...tryFindings(picked),
    ...clusterNames(route).flatMap((name) => destinationFindings(picked, name, setup)),
  ];
}

/** The clusters that a route leads to. */
export function clusterNames({
  cluster,
  weighted_clusters: weighted,
}: RouteAction): readonly string[] {
  const names = [cluster, ...(weighted?.clusters ?? []).map(({ name }) => name)];
  return names.filter((name) => name !== undefined);
}

function timeFindings(
  { manager, name: where }: PickedRoute,
  route: RouteAction,
): readonly Finding[] {
  const timeout = secondsOf(route.timeout, ROUTE_TIMEOUT_S);
  const idle = secondsOf(route.idle_timeout ?? manager.stream_idle_timeout, IDLE_TIMEOUT_S);
  const longest = secondsOf(
    route.max_stream_duration?.max_stream_duration ??
      manager.common_http_protocol_options?.max_stream_duration,
    0,
  );
  const isShort = (seconds: number, least: number): boolean => seconds > 0 && seconds < least;
  const byDefault = (given: unknown): string => (given === undefined ? ', Envoy’s default' : '');
  const idleGiven = route.idle_timeout ?? manager.stream_idle_timeout;
  return [
    ...when(isShort(timeout, ANSWER_SECONDS_MIN), {
      severity: timeout < 600 ? 'error' : 'warning',
      id: 'route-timeout',
      where,
      what: `timeout is ${timeout} s${byDefault(route.timeout)}: an answer that takes longer fails with 504 or is cut.`,
      lines: ['route:', '  timeout: 0s'],
    }),
    ...when(isShort(idle, IDLE_SECONDS_MIN), {
      severity: idle < 60 ? 'error' : 'warning',
      id: 'idle-timeout',
      where,
      what: `idle_timeout is ${idle} s${byDefault(idleGiven)}: a request whose first token takes longer fails, as nothing is sent before it.`,
      lines: ['route:', '  idle_timeout: 86400s'],
    }),
    ...when(isShort(longest, ANSWER_SECONDS_MIN), {
      severity: longest < 600 ? 'error' : 'warning',
      id: 'stream-duration',
      where,
      what: `max_stream_duration is ${longest} s: a longer answer is cut.`,
      lines: ['route:', '  max_stream_duration: { max_stream_duration: 0s }'],
    }),
  ];
}

/** Each try of a request has a limit of its own where the route repeats what fails. */
function tryFindings({ retryPolicy, name: where }: PickedRoute): readonly Finding[] {
  const seconds = secondsOf(retryPolicy?.per_try_timeout, 0);
  return when(seconds > 0 && seconds < ANSWER_SECONDS_MIN, {
    severity: seconds < 600 ? 'error' : 'warning',
    id: 'try-timeout',
    where,
    what: `per_try_timeout of its retry_policy is ${seconds} s: an answer that has not begun by then is asked for again, from another server, and at last fails.`,
    lines: ['route:', '  retry_policy:', '    per_try_timeout: 0s'],
  });
}

function destinationFindings(
  { name: where, filter }: PickedRoute,
  name: string,
  { clusters }: EnvoySetup,
): readonly Finding[] {
  const cluster = clusters.get(name);
  if (cluster === undefined) {
    return [
      {
        severity: 'error',
        id: 'no-cluster',
        where,
        what: `it leads to the cluster ${name}, which Envoy does not have: requests fail with 503.`,
        mend: 'Add the cluster, or correct its name.',
      },
    ];
  }
  const both = `cluster ${name}, ${where}`;
  if (readsDestination(cluster)) return servedFindings(cluster, filter, both);
  return [
    {
      severity: 'error',
      id: 'destination-not-read',
      where: both,
      what: `it does not read ${DESTINATION_HEADER}: Envoy chooses an endpoint by itself, and the pick has no effect.`,
      lines: linesToDestination(cluster, clusters),
    },
  ];
}

/** Whether the picker learns which of several destinations has served a request. */
function servedFindings(
  cluster: Cluster,
  { metadata_options: metadata }: PickedRoute['filter'],
  where: string,
): readonly Finding[] {
  const forwarded = metadata?.forwarding_namespaces?.untyped ?? [];
  return when(hasFallbacks(cluster) && !forwarded.includes('envoy.lb'), {
    severity: 'warning',
    id: 'served-endpoint-not-forwarded',
    where,
    what: 'it may use a fallback, and the filter does not forward the metadata envoy.lb: the picker does not learn which endpoint served a request.',
    lines: [
      'metadata_options:',
      '  forwarding_namespaces: { untyped: [envoy.lb.subset_hint, envoy.lb] }',
    ],
  });
}

/**
 * Makes the cluster read the destination, or leads the route to one that does, which is added where
 * there is none.
 */
function linesToDestination(
  cluster: Cluster,
  clusters: ReadonlyMap<string, Cluster>,
): readonly string[] {
  const isOriginal = cluster.type === 'ORIGINAL_DST';
  const header = `{ use_http_header: true, http_header_name: ${DESTINATION_HEADER} }`;
  if (isOriginal) return [`original_dst_lb_config: ${header}   # of the cluster`];
  const reading = [...clusters.values()].find(readsDestination);
  if (reading !== undefined) return ['route:', `  cluster: ${reading.name}`];
  const name = ['picked_endpoint', 'picked_endpoint_2'].find((each) => !clusters.has(each));
  return [
    'route:',
    `  cluster: ${name}`,
    '# and among the clusters:',
    `- name: ${name}`,
    '  type: ORIGINAL_DST',
    '  lb_policy: CLUSTER_PROVIDED',
    `  original_dst_lb_config: ${header}`,
    '  connect_timeout: 5s',
    '  cleanup_interval: 60s',
    ...[...BREAKER_LINES, ...keepAliveLines(undefined)].map((line) => `  ${line}`),
  ];
}

/** Whether the cluster goes where the picker says. */
export function readsDestination(cluster: Cluster): boolean {
  const { type, original_dst_lb_config: original } = cluster;
  if (type === 'ORIGINAL_DST') {
    const header = original?.http_header_name?.toLowerCase();
    return original?.use_http_header === true && header === DESTINATION_HEADER;
  }
  return hasFallbacks(cluster);
}

/** Whether its policy takes a list of destinations, from the header or from metadata. */
function hasFallbacks({ load_balancing_policy: policy }: Cluster): boolean {
  const text = JSON.stringify(policy ?? '');
  return text.includes('OverrideHost') && text.includes(DESTINATION_HEADER);
}
