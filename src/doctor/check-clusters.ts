import { checkBreaker } from './check-breaker.ts';
import { clusterNames, readsDestination } from './check-route.ts';
import {
  HEALTH_LINES,
  HTTP_OPTIONS,
  http2Lines,
  httpOptionLines,
  KEEPALIVE,
  keepAliveLines,
  PANIC_LINES,
  pickerClusterLines,
} from './cluster-lines.ts';
import type { EnvoySetup } from './envoy-setup.ts';
import { type Cluster, type Http2Options, type HttpOptions, secondsOf } from './envoy-types.ts';
import { type Finding, when } from './finding.ts';

/** Envoy's own defaults. */
const UPSTREAM_IDLE_S = 3600;
const CLEANUP_S = 5;
/** uvicorn, and with it vLLM and SGLang, closes idle connections after so long. */
const SERVER_IDLE_S = 5;
const WINDOW_MIN = 256 * 1024;
/** Several prompts at once have room in the window of a connection. */
const CONNECTION_WINDOW_MIN = 1024 * 1024;
/**
 * The most seconds until a connection without answers ends. Other pickers end those that are pinged
 * more often.
 */
const FOUND_AFTER_S_MAX = 15;
/** Longer than the longest answer. */
const STREAM_SECONDS_MIN = 3600;

/** What is wrong with the clusters of the picker and of the model servers. */
export function checkClusters({ routes, clusters }: EnvoySetup): readonly Finding[] {
  const used = (names: Iterable<string>): readonly Cluster[] =>
    [...new Set(names)].flatMap((name) => clusters.get(name) ?? []);
  const pickers = pickerNames(routes);
  // A cluster that does not read the destination is to be replaced, which is a finding of its own.
  const deciding = routes.filter(({ filter }) => filter.observability_mode !== true);
  const servers = used(deciding.flatMap(({ route }) => clusterNames(route.route ?? {}))).filter(
    readsDestination,
  );
  const repeated = repeatedNames(deciding);
  const common = (cluster: Cluster): readonly Finding[] => [
    ...checkBreaker(cluster, repeated.has(cluster.name)),
    ...durationFindings(cluster),
  ];
  return [
    ...[...pickers].filter((name) => !clusters.has(name)).map(missingPicker),
    ...used(pickers).flatMap((cluster) => [...common(cluster), ...pickerFindings(cluster)]),
    ...servers.flatMap((cluster) => [...common(cluster), ...serverFindings(cluster)]),
  ];
}

/** The clusters that the filters ask. */
export function pickerNames(routes: EnvoySetup['routes']): ReadonlySet<string> {
  return new Set(
    routes.flatMap(({ filter }) => filter.grpc_service?.envoy_grpc?.cluster_name ?? []),
  );
}

function missingPicker(name: string): Finding {
  return {
    severity: 'error',
    id: 'no-cluster',
    where: `cluster ${name}, of the picker`,
    what: 'Envoy does not have it: every request fails or passes without a pick.',
    mend: 'Add it to the clusters, with the address of your picker. These lines are for one without TLS (--insecure).',
    lines: pickerClusterLines(name),
  };
}

/** The clusters whose requests are repeated where they fail. */
function repeatedNames(routes: EnvoySetup['routes']): ReadonlySet<string> {
  return new Set(
    routes.flatMap(({ filter: { grpc_service: service }, route, retryPolicy }) => [
      ...(service?.retry_policy === undefined ? [] : [service.envoy_grpc?.cluster_name ?? '']),
      ...(retryPolicy === undefined ? [] : clusterNames(route.route ?? {})),
    ]),
  );
}

function durationFindings(cluster: Cluster): readonly Finding[] {
  const options = cluster.typed_extension_protocol_options?.[HTTP_OPTIONS];
  const longest = secondsOf(options?.common_http_protocol_options?.max_stream_duration, 0);
  return when(longest > 0 && longest < STREAM_SECONDS_MIN, {
    severity: longest < 600 ? 'error' : 'warning',
    id: 'stream-duration',
    where: `cluster ${cluster.name}`,
    what: `max_stream_duration is ${longest} s: a longer answer is cut.`,
    lines: httpOptionLines(options, 'max_stream_duration: 0s'),
  });
}

function http2Of(cluster: Cluster): Http2Options | undefined {
  // With `auto_config` TLS chooses the version, and a picker with TLS chooses HTTP/2.
  const { explicit_http_config: explicit, auto_config: auto } = optionsOf(cluster);
  return (
    explicit?.http2_protocol_options ??
    auto?.http2_protocol_options ??
    cluster.http2_protocol_options
  );
}

function optionsOf({ typed_extension_protocol_options: options }: Cluster): HttpOptions {
  return options?.[HTTP_OPTIONS] ?? {};
}

function pickerFindings(cluster: Cluster): readonly Finding[] {
  const where = `cluster ${cluster.name}, of the picker`;
  const http2 = http2Of(cluster);
  if (http2 === undefined) {
    return [
      {
        severity: 'error',
        id: 'picker-without-http2',
        where,
        what: 'it has no HTTP/2: gRPC does not work, and every request fails or passes without a pick.',
        lines: http2Lines([KEEPALIVE], optionsOf(cluster).explicit_http_config),
      },
      ...healthFindings(cluster, where),
    ];
  }
  return [
    ...keepaliveFindings(http2, where),
    ...windowFindings(http2, where),
    ...healthFindings(cluster, where),
  ];
}

function keepaliveFindings(http2: Http2Options, where: string): readonly Finding[] {
  const { interval, timeout } = http2.connection_keepalive ?? {};
  // Without an interval it never pings.
  const everyS = secondsOf(interval, Number.POSITIVE_INFINITY);
  const foundAfterS = everyS + secondsOf(timeout, 0);
  return [
    ...when(http2.connection_keepalive === undefined, {
      severity: 'warning',
      id: 'no-keepalive',
      where,
      what: 'it has no connection_keepalive: when the host of the picker vanishes, requests hang until message_timeout.',
      lines: http2Lines([KEEPALIVE]),
    }),
    ...when(http2.connection_keepalive !== undefined && foundAfterS > FOUND_AFTER_S_MAX, {
      severity: 'warning',
      id: 'slow-keepalive',
      where,
      what: `its connection_keepalive finds a picker that stands still or has vanished after up to ${foundAfterS} s: so long its requests wait.`,
      lines: http2Lines([KEEPALIVE]),
    }),
  ];
}

function windowFindings(http2: Http2Options, where: string): readonly Finding[] {
  const window = http2.initial_stream_window_size ?? Number.POSITIVE_INFINITY;
  const ofConnection = http2.initial_connection_window_size ?? Number.POSITIVE_INFINITY;
  const [name, small] =
    window < WINDOW_MIN
      ? ['initial_stream_window_size', window]
      : ['initial_connection_window_size', ofConnection];
  return [
    ...when(window < WINDOW_MIN || ofConnection < CONNECTION_WINDOW_MIN, {
      severity: 'warning',
      id: 'small-http2-window',
      where,
      what: `${name} is ${small.toLocaleString('en')} bytes: ${name.includes('stream') ? 'a long prompt reaches' : 'all prompts of a connection share them, and reach'} the picker in many round trips.`,
      lines: http2Lines([
        'initial_stream_window_size: 1048576',
        'initial_connection_window_size: 16777216',
      ]),
    }),
  ];
}

function healthFindings(
  { health_checks: checks = [], common_lb_config: common }: Cluster,
  where: string,
): readonly Finding[] {
  if (checks.length === 0) {
    return [
      {
        severity: 'warning',
        id: 'no-health-check',
        where,
        what: 'it has no health check: requests still go to a picker that is draining or gone.',
        lines: HEALTH_LINES,
      },
    ];
  }
  const panic = common?.healthy_panic_threshold;
  // A threshold without value is 0: JSON leaves zeros out.
  if (panic !== undefined && (panic.value ?? 0) === 0) return [];
  return [
    {
      severity: 'warning',
      id: 'panic-threshold',
      where,
      what: 'its healthy_panic_threshold is not 0: when half of the pickers are down, requests go to those as well.',
      lines: PANIC_LINES,
    },
  ];
}

function serverFindings(cluster: Cluster): readonly Finding[] {
  const where = `cluster ${cluster.name}, of the model servers`;
  const idle = secondsOf(
    optionsOf(cluster).common_http_protocol_options?.idle_timeout,
    UPSTREAM_IDLE_S,
  );
  const cleanup = secondsOf(cluster.cleanup_interval, CLEANUP_S);
  return [
    ...when(idle === 0 || idle >= SERVER_IDLE_S, {
      severity: 'warning',
      id: 'upstream-idle-timeout',
      where,
      what: `connections stay open ${idle === 0 ? 'without limit' : `for ${idle} s without use`}, and uvicorn (vLLM, SGLang) closes them after ${SERVER_IDLE_S} s: now and then a request uses one that is just being closed, and fails with 503.`,
      lines: keepAliveLines(cluster.typed_extension_protocol_options?.[HTTP_OPTIONS]),
    }),
    ...when(cluster.type === 'ORIGINAL_DST' && cleanup < 30, {
      severity: 'warning',
      id: 'cleanup-interval',
      where,
      what: `cleanup_interval is ${cleanup} s: Envoy forgets an endpoint and its connections after so long without use, and connects anew.`,
      lines: ['cleanup_interval: 60s'],
    }),
  ];
}
