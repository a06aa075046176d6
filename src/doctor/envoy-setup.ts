import type {
  Cluster,
  ConnectionManager,
  EnvoyListener,
  EnvoyRoute,
  ExtProc,
  HttpFilter,
  PerRoute,
  RetryPolicy,
  RouteConfig,
} from './envoy-types.ts';

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
}

export interface EnvoySetup {
  readonly routes: readonly PickedRoute[];
  readonly clusters: ReadonlyMap<string, Cluster>;
  /** Listeners that serve HTTP. */
  readonly listeners: number;
}

interface ConfigDump {
  readonly configs?: readonly Readonly<Record<string, readonly DumpedPart[] | undefined>>[];
}

/** A part of a dump: static ones have their object themselves, listeners from xDS a state. */
interface DumpedPart {
  readonly listener?: EnvoyListener;
  readonly active_state?: { readonly listener?: EnvoyListener };
  readonly cluster?: Cluster;
  readonly route_config?: RouteConfig;
}

const MANAGER = 'HttpConnectionManager';
const EXT_PROC = 'ext_proc.v3.ExternalProcessor';

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
  return {
    routes: managers.flatMap(({ listener, manager }) =>
      pickedRoutes(listener, manager, routeConfigs),
    ),
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
): readonly PickedRoute[] {
  const named = routeConfigs.get(manager.rds?.route_config_name ?? '');
  const config = manager.route_config ?? named;
  const filters = (manager.http_filters ?? []).filter(isExtProc);
  return (config?.virtual_hosts ?? []).flatMap((host) =>
    (host.routes ?? []).flatMap((route, place) =>
      filters.flatMap((httpFilter): readonly PickedRoute[] => {
        const perRoute = [route, host, config]
          .map((level) => level?.typed_per_filter_config?.[httpFilter.name])
          .find((found) => found !== undefined);
        const filter = filterAt(httpFilter, perRoute);
        if (filter === undefined || route.route === undefined) return [];
        const retryPolicy = route.route.retry_policy ?? host.retry_policy;
        const name = `route ${route.name ?? `${host.name ?? ''}[${place}]`} of listener ${listener.name ?? '?'}`;
        const about = { listener, manager, filterName: httpFilter.name, name };
        return [{ ...about, filter, route, retryPolicy }];
      }),
    ),
  );
}

function isExtProc({ typed_config: config }: HttpFilter): boolean {
  return config?.['@type']?.endsWith(EXT_PROC) === true;
}

/** The filter as it works on a route; undefined where it is off. */
function filterAt(
  { disabled = false, typed_config: config = {} }: HttpFilter,
  perRoute: PerRoute | undefined,
): ExtProc | undefined {
  if (perRoute?.disabled === true) return undefined;
  // A filter that is off is switched on by any configuration of the route.
  if (disabled && perRoute === undefined) return undefined;
  return { ...config, ...perRoute?.overrides };
}
