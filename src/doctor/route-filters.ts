import type { ExtProc, HttpFilter, PerRoute } from './envoy-types.ts';

const EXT_PROC = 'ext_proc.v3.ExternalProcessor';

/** Settings of filters by their names, as a route has them, or what is around it. */
type Level = Readonly<Record<string, PerRoute>> | undefined;

/** An ext_proc filter as it works on one route. */
export interface FilterAtRoute {
  readonly name: string;
  /** With what the route overrides. */
  readonly filter: ExtProc;
}

/** The filters that a route's requests are shown to. */
export interface RouteFilters {
  /** The picker's, and observers. */
  readonly asked: readonly FilterAtRoute[];
  /** Filters of other servers, which come before the picker's. */
  readonly others: readonly FilterAtRoute[];
}

/**
 * The ext_proc filters that work on a route. The last of several is the picker's: what comes
 * before it may still change the model or the prompt. `levels` begin with the widest.
 */
export function filtersAtRoute(
  filters: readonly HttpFilter[],
  levels: readonly Level[],
): RouteFilters {
  const working = filters
    .filter(({ typed_config: config }) => config?.['@type']?.endsWith(EXT_PROC) === true)
    .flatMap((each): readonly FilterAtRoute[] => {
      const settings = levels.flatMap((level) => level?.[each.name] ?? []);
      const filter = filterWith(each, settings);
      return filter === undefined || !showsRequests(filter) ? [] : [{ name: each.name, filter }];
    });
  const picker = working.findLast(({ filter }) => filter.observability_mode !== true);
  const isAsked = (each: FilterAtRoute): boolean =>
    each === picker || each.filter.observability_mode === true;
  return {
    asked: working.filter(isAsked),
    others: working.filter((each) => !isAsked(each)),
  };
}

/** The filter as it works on a route; undefined where it is off. */
function filterWith(
  { disabled = false, typed_config: config = {} }: HttpFilter,
  settings: readonly PerRoute[],
): ExtProc | undefined {
  // Settings may be in an envelope, which can switch any filter off.
  const opened = settings.map(({ config: inside, ...outside }) => ({ ...outside, ...inside }));
  const narrowest = opened.at(-1);
  // A filter that is off is switched on by any configuration of the route.
  if (narrowest === undefined ? disabled : narrowest.disabled === true) return undefined;
  return Object.assign({ ...config }, ...opened.map(({ overrides }) => overrides));
}

/**
 * Whether a picker could see requests. A gateway may have a filter that sends nothing, which only
 * some routes override.
 */
function showsRequests({ processing_mode: mode = {} }: ExtProc): boolean {
  return (
    mode.request_header_mode !== 'SKIP' ||
    (mode.request_body_mode ?? 'NONE') !== 'NONE' ||
    mode.request_trailer_mode === 'SEND'
  );
}
