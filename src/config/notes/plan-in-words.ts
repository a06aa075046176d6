import type { PickerPlan, PlannedPlugin, PlannedProfile } from '../../picker/plan/picker-plan.ts';
import { REFERENCE_TYPES } from '../reference/reference-table.ts';

/** What a plan does with a request, in order, as sentences. */
export function planInWords(plan: PickerPlan): readonly string[] {
  const { discovery, scheduler, handler, profiles, plugins, parsers = [] } = plan;
  const sources = plugins.filter(informs).map(({ name }) => name);
  return [
    discovery === undefined
      ? 'The endpoints are those of the pool in Kubernetes, or those that serve is started with.'
      : `The endpoints are those of the file ${discovery.path}${discovery.watchFile ? ', read again at each change' : ''}.`,
    ...(sources.length > 0 ? [`What is known of them comes from ${list(sources)}.`] : []),
    ...(parsers.length > 0 ? [`Bodies are read by ${list(parsers)}.`] : []),
    ...waitingInWords(plan),
    ...(scheduler === undefined
      ? []
      : [
          `The scheduler ${scheduler.definition.type} decides; what it leaves is decided as follows.`,
        ]),
    profiles.length === 1
      ? `${handler.name} runs the profile ${profiles[0]?.name ?? ''}.`
      : `${handler.name} chooses which of the profiles ${list(profiles.map(({ name }) => name))} run.`,
    ...profiles.flatMap(profileInWords),
    ...placingInWords(plan),
  ];
}

/** Roles of the reference's plugins that learn something about endpoints or requests. */
const INFORMING: ReadonlySet<string> = new Set(['producer', 'data source', 'extractor']);

function informs({ kind, definition }: PlannedPlugin): boolean {
  const role = REFERENCE_TYPES.get(definition.type);
  return kind === 'source' && (role === undefined || INFORMING.has(role));
}

function waitingInWords({ flowControl, shedding, hold }: PickerPlan): readonly string[] {
  if (flowControl !== undefined) {
    const bands = [...flowControl.bands.keys()].toSorted((a, b) => b - a);
    const own = bands.length > 0 ? ` Priorities ${list(bands.map(String))} have bands.` : '';
    return [
      `Requests wait while ${flowControl.detector.name} says that the pool is saturated, higher priorities first.${own}`,
    ];
  }
  if (shedding === undefined) return [];
  return [
    ...(hold?.enabled === true ? [] : ['No request waits.']),
    `Requests with a priority below 0 are refused while ${shedding.name} says that the pool is saturated.`,
  ];
}

/** What may keep a decided request from being sent at once. */
function placingInWords({ hold, capacity }: PickerPlan): readonly string[] {
  const most = capacity?.maxConcurrency;
  const label = capacity?.maxConcurrencyLabel;
  const bounds = [
    ...(most === undefined ? [] : [`${most} requests in flight`]),
    ...(label === undefined ? [] : [`as many as its label ${label} says`]),
  ];
  return [
    ...(bounds.length > 0 ? [`An endpoint has at most ${bounds.join(', or ')} (capacity).`] : []),
    ...(hold?.enabled === true
      ? [
          `A request waits at the picker, up to ${hold.maxWaitMs / 1000} s, until its endpoint can begin it (hold).`,
        ]
      : []),
  ];
}

function profileInWords({ name, plugins }: PlannedProfile): readonly string[] {
  const ofKind = (kind: PlannedPlugin['kind']): readonly PlannedProfile['plugins'][number][] =>
    plugins.filter(({ plugin }) => plugin.kind === kind);
  const filters = plugins.filter(({ plugin }) => keeps(plugin)).map(({ plugin }) => plugin.name);
  const scorers = ofKind('scorer').map(({ plugin, weight }) => `${weight} × ${plugin.name}`);
  const [picker] = ofKind('picker');
  return [
    `Profile ${name}:`,
    filters.length === 0
      ? '  1. All endpoints are candidates.'
      : `  1. ${list(filters)} ${filters.length === 1 ? 'keeps' : 'keep, one after another,'} some of the endpoints.`,
    scorers.length === 0
      ? '  2. No scorer rates them.'
      : `  2. Each is rated by ${scorers.join(' + ')}.`,
    `  3. ${picker?.plugin.name ?? 'the picker'} picks among them.`,
  ];
}

/** Whether it leaves endpoints out: a filter, or a scorer that its parameters make one, too. */
function keeps({ kind, config }: PlannedPlugin): boolean {
  if (kind !== 'scorer') return kind === 'filter';
  const given: unknown = config;
  const isMap = typeof given === 'object' && given !== null;
  return isMap && 'enableFiltering' in given && given.enableFiltering === true;
}

/** `a`, `a and b`, `a, b and c`. */
function list(names: readonly string[]): string {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}
