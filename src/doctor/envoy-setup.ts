import type {
  Cluster,
  ConnectionManager,
  EnvoyListener,
  EnvoyRoute,
  ExtProc,
  RetryPolicy,
  RouteConfig,
} from './envoy-types.ts';
import { type FilterAtRoute, filtersAtRoute } from './route-filters.ts';

/** A route on which an ext_proc filter works, with everything that a request there meets. */
export interface PickedRoute {
  readonly listener: EnvoyListener;
  readonly manager: ConnectionManager;
  readonly filterName: string;
  /** With what the route overrides. */
  readonly filter: ExtProc;
  readonly route: EnvoyRoute;
  /** What requests to a model server that fail are repeated by. */
  readonly retryPolicy: RetryPolicy | undefined;
  /** The name that findings show. */
  readonly name: string;
  /** Another filter before it that decides, too, and asks the cluster that it asks. */
  readonly sameBefore?: string;
}

export interface EnvoySetup {
  readonly routes: readonly PickedRoute[];
  readonly clusters: ReadonlyMap<string, Cluster>;
  /** Listeners that serve HTTP. */
  readonly listeners: number;
  /** ext_proc filters that are not the picker's, by name. */
  readonly otherFilters: readonly string[];
  readonly refused: readonly RefusedUpdate[];
}

/** A listener that Envoy got by xDS and does not use. */
export interface RefusedUpdate {
  readonly name: string;
  readonly details: string;
}

interface RoutesOfListener {
  readonly picked: readonly PickedRoute[];
  readonly others: readonly string[];
}

interface ConfigDump {
  readonly configs?: readonly Readonly<Record<string, readonly DumpedPart[] | undefined>>[];
}

/** A part of a dump: static ones have their object themselves, listeners from xDS a state. */
interface DumpedPart {
  readonly error_state?: {
    readonly failed_configuration?: { readonly name?: string };
    readonly details?: string;
  };
  readonly listener?: EnvoyListener;
  readonly active_state?: { readonly listener?: EnvoyListener };
  readonly cluster?: Cluster;
  readonly route_config?: RouteConfig;
}

const MANAGER = 'HttpConnectionManager';

/** What Envoy's `/config_dump` says about requests that a picker sees. */
export function readSetup(dump: unknown): EnvoySetup {
  const parts = ((dump as ConfigDump).configs ?? []).flatMap((config) =>
    Object.values(config)
      .filter((value) => Array.isArray(value))
      .flat(),
  ) as readonly DumpedPart[];
  const listeners = parts.flatMap(({ listener, active_state: state }) => {
    const found = listener ?? state?.listener;
    return found === undefined ? [] : [found];
  });
  const routeConfigs = new Map(
    parts.flatMap(({ route_config: config }) =>
      config === undefined ? [] : [[config.name ?? '', config] as const],
    ),
  );
  const managers = listeners.flatMap((listener) =>
    managersOf(listener).map((manager) => ({ listener, manager })),
  );
  const routes = managers.map(({ listener, manager }) =>
    pickedRoutes(listener, manager, routeConfigs),
  );
  return {
    routes: routes.flatMap(({ picked }) => picked),
    otherFilters: [...new Set(routes.flatMap(({ others }) => others))],
    refused: parts.flatMap(({ error_state: state }) => {
      const { details = 'it gives no reason', failed_configuration: failed } = state ?? {};
      return state === undefined ? [] : [{ name: failed?.name ?? '?', details }];
    }),
    clusters: new Map(
      parts.flatMap(({ cluster }) => (cluster === undefined ? [] : [[cluster.name, cluster]])),
    ),
    listeners: managers.length,
  };
}

function managersOf({
  filter_chains: chains = [],
  default_filter_chain: last,
}: EnvoyListener): readonly ConnectionManager[] {
  return [...chains, ...(last === undefined ? [] : [last])]
    .flatMap(({ filters = [] }) => filters.map(({ typed_config: config }) => config))
    .filter((config) => config?.['@type']?.endsWith(MANAGER) === true) as ConnectionManager[];
}

function pickedRoutes(
  listener: EnvoyListener,
  manager: ConnectionManager,
  routeConfigs: ReadonlyMap<string, RouteConfig>,
): RoutesOfListener {
  const named = routeConfigs.get(manager.rds?.route_config_name ?? '');
  const config = manager.route_config ?? named;
  const ways = (config?.virtual_hosts ?? []).flatMap((host) =>
    (host.routes ?? []).flatMap((route, place) => {
      const name = `route ${route.name ?? `${host.name ?? ''}[${place}]`} of listener ${listener.name ?? '?'}`;
      const around = [config, host, route].map((level) => level?.typed_per_filter_config);
      return waysOf(route).map(({ way, settings }) => ({
        ...filtersAtRoute(manager.http_filters ?? [], [...around, settings]),
        about: { listener, manager, name, route: way },
        retryPolicy: way.route?.retry_policy ?? host.retry_policy,
      }));
    }),
  );
  return {
    picked: ways.flatMap(({ asked, others, about, retryPolicy }) =>
      asked.map(({ name, filter }) => ({
        ...about,
        filterName: name,
        filter,
        retryPolicy,
        ...sameBefore(filter, others),
      })),
    ),
    others: ways.flatMap(({ others }) => others.map(({ name }) => name)),
  };
}

function sameBefore(
  picker: ExtProc,
  others: readonly FilterAtRoute[],
): Pick<PickedRoute, 'sameBefore'> {
  const clusterOf = ({ grpc_service: service }: ExtProc): string | undefined =>
    service?.envoy_grpc?.cluster_name;
  if (picker.observability_mode === true || clusterOf(picker) === undefined) return {};
  const same = others.find(({ filter }) => clusterOf(filter) === clusterOf(picker));
  return same === undefined ? {} : { sameBefore: same.name };
}

/** Where a route leads: each of weighted clusters may have settings of filters for itself. */
function waysOf(route: EnvoyRoute): readonly {
  readonly way: EnvoyRoute;
  readonly settings?: EnvoyRoute['typed_per_filter_config'];
}[] {
  const { route: action } = route;
  if (action === undefined) return [];
  const weighted = action.weighted_clusters?.clusters;
  if (weighted === undefined) return [{ way: route }];
  return weighted.map((cluster) => ({
    way: { ...route, route: { ...action, weighted_clusters: { clusters: [cluster] } } },
    settings: cluster.typed_per_filter_config,
  }));
}
