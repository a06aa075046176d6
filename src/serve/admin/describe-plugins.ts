import { countedTokens } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Observer } from '../../framework/observer.ts';
import { prefixIndexes } from '../../journal/metrics/metrics.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import { isoTime } from '../../runtime/clock/iso-time.ts';

/** What a plugin knows, or a message that says why nothing is shown. */
interface ShownPlugin {
  readonly name: string;
  readonly type: string;
  readonly state?: unknown;
  readonly message?: string;
}

/** The form in which the reference shows its plugins at the same path. */
export interface PluginStates {
  readonly timestamp: string;
  readonly plugins: Readonly<Record<string, ShownPlugin>>;
}

type State = Readonly<Record<string, unknown>>;

/** The longest list that is shown: a document of a large pool stays small. */
const LISTED_MAX = 100;
const NO_STATE = 'plugin does not support state collection';
/** The picker always counts what is in flight, under the name of the reference's plugin for it. */
const LOADS = 'inflight-load-producer';

/** What each plugin in charge has learned, in the form of the reference. */
export function describePlugins(picker: EndpointPicker): PluginStates {
  const plugins = new Map<string, ShownPlugin>([
    [LOADS, { name: LOADS, type: LOADS, state: bounded(loadsOf(picker)) }],
  ]);
  for (const [name, { plugin, instance }] of picker.plugins()) {
    const { type } = plugin.definition;
    const state = stateOf(picker, type, instance);
    plugins.set(name, {
      name,
      type,
      ...(state === undefined ? { message: NO_STATE } : { state: bounded(state) }),
    });
  }
  return { timestamp: isoTime(picker.clock.wallTime()), plugins: Object.fromEntries(plugins) };
}

function stateOf(picker: EndpointPicker, type: string, instance: Observer): State | undefined {
  if (type === LOADS) return loadsOf(picker);
  const described = instance.describeState?.();
  if (described !== undefined) return described;
  const [index] = prefixIndexes([instance]);
  return index && { endpoints: byMost(picker, 'blocks', (each) => index.size(each)) };
}

/** The busiest endpoint first. */
function loadsOf({ pool, ledger }: EndpointPicker): State {
  const loads = pool.snapshot().map((endpoint) => {
    const load = ledger.load(endpoint);
    return { endpoint: endpoint.id, requests: load.requests, tokens: countedTokens(load) };
  });
  return {
    endpoints: loads.toSorted((a, b) => b.requests + b.tokens - (a.requests + a.tokens)),
  };
}

function byMost(
  { pool }: EndpointPicker,
  what: string,
  read: (endpoint: Endpoint) => number,
): readonly State[] {
  const counts = pool.snapshot().map((endpoint) => [endpoint.id, read(endpoint)] as const);
  return counts
    .toSorted(([, a], [, b]) => b - a)
    .map(([endpoint, count]) => ({ endpoint, [what]: count }));
}

/**
 * The state with at most `LISTED_MAX` elements of each list, the lengths of the lists, and whether
 * any was cut.
 */
function bounded(state: State): State {
  const lists = Object.entries(state).filter(([, value]) => Array.isArray(value));
  const shown = lists.map(([name, list]) => {
    const all = list as readonly unknown[];
    const suffix = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    return {
      [name]: all.slice(0, LISTED_MAX),
      [`total${suffix}`]: all.length,
      [`max${suffix}`]: LISTED_MAX,
    };
  });
  const truncated = lists.some(([, list]) => (list as readonly unknown[]).length > LISTED_MAX);
  return { ...state, ...Object.assign({}, ...shown), ...(lists.length > 0 && { truncated }) };
}
