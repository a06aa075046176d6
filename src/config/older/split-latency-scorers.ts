import { isPlainObject } from '../../framework/values/plain-object.ts';
import { type Fields, listOf } from './fields.ts';
import type { OlderNotes } from './older-notes.ts';

const TYPE = 'predicted-latency-scorer';
const LINEAR_PICKER = 'weighted-random-picker';
const MAX_PICKER = 'max-score-picker';

interface Split {
  readonly plugins: readonly unknown[];
  readonly schedulingProfiles: unknown;
}

/** The plugins that one scorer has become. */
interface Parts {
  readonly scorer: Fields;
  /** In the order in which they run, behind the other filters of a profile. */
  readonly filters: readonly Fields[];
  readonly picker: string;
  /** They work without a profile. */
  readonly beside: readonly Fields[];
}

/**
 * `predicted-latency-scorer` predicted latencies, refused what cannot be served in time, kept to
 * cached prefixes and to the objectives of requests, and picked: its pick had the score 1, and all
 * others 0. The newest release has a plugin for each of these. Undefined where no plugin has the
 * type.
 */
export function splitLatencyScorers(
  plugins: readonly unknown[],
  profiles: unknown,
  notes: OlderNotes,
): Split | undefined {
  const parts = new Map<string, Parts>();
  const all = plugins.map((each, index) => {
    if (!isPlainObject(each) || each['type'] !== TYPE) return each;
    const { parameters = {} } = each;
    if (!isPlainObject(parameters ?? {})) return each;
    const part = partsOf(each, `plugins[${index}]`, notes);
    parts.set(nameOf(each), part);
    return part.scorer;
  });
  if (parts.size === 0) return undefined;
  for (const { filters, beside } of parts.values()) {
    all.push(...filters, ...beside.filter(({ type }) => !hasType(all, type)));
  }
  const typeOf = (name: string): string => typeOfName(all, name);
  const schedulingProfiles = listOf(profiles)?.map((each) => withParts(each, parts, typeOf));
  for (const { picker } of parts.values()) {
    const isNamed = schedulingProfiles?.some((each) => names(each).includes(picker));
    if ((isNamed ?? !hasPicker(all)) && !hasName(all, picker)) all.push({ type: picker });
  }
  return { plugins: all, schedulingProfiles: schedulingProfiles ?? profiles };
}

/** A profile with the filters and the picker of its scorer of latencies. */
function withParts(
  profile: unknown,
  parts: ReadonlyMap<string, Parts>,
  typeOf: (name: string) => string,
): unknown {
  const listed = names(profile);
  const [part] = listed.flatMap((name) => parts.get(name) ?? []);
  if (part === undefined || !isPlainObject(profile)) return profile;
  const refs = listOf(profile['plugins']) ?? [];
  // The scorer picked before the picker did, which took the highest score.
  const kept = refs.filter((_ref, index) => typeOf(listed[index] ?? '') !== MAX_PICKER);
  const isPicked = listed.some((name) => isOtherPicker(typeOf(name)));
  const added = [...part.filters.map(nameOf), ...(isPicked ? [] : [part.picker])];
  return { ...profile, plugins: [...kept, ...added.map((pluginRef) => ({ pluginRef }))] };
}

function partsOf(given: Fields, path: string, notes: OlderNotes): Parts {
  const name = nameOf(given);
  const parameters = isPlainObject(given['parameters']) ? given['parameters'] : {};
  notes.works(`${path}.type`, NEWEST);
  noteParameters(parameters, `${path}.parameters`, notes);
  // What neither release knows is an error at the scorer.
  const unknown = Object.entries(parameters).filter(([parameter]) => !KNOWN.has(parameter));
  const scorer = { ...renamed(parameters, OF_SCORER), ...Object.fromEntries(unknown) };
  const tier = renamed(parameters, [['epsilonExploreNeg', 'epsilonExploreNeg']]);
  return {
    scorer: { ...given, type: 'latency-scorer', name, parameters: scorer },
    filters: [
      affinityFilter(
        `${name}-strict-affinity`,
        parameters,
        parameters['affinityGateTauGlobal'] ?? 0.99,
      ),
      { name: `${name}-tier`, type: 'slo-headroom-tier-filter', parameters: tier },
      affinityFilter(`${name}-loose-affinity`, parameters, parameters['affinityGateTau'] ?? 0.8),
    ],
    picker: parameters['selectionMode'] === 'max' ? MAX_PICKER : LINEAR_PICKER,
    beside: [
      { type: 'predicted-latency-producer', parameters: renamed(parameters, OF_PRODUCER) },
      { type: 'latency-slo-admitter' },
    ],
  };
}

/** Defaults are those of the last release that has the scorer. */
function affinityFilter(name: string, parameters: Fields, affinityThreshold: unknown): Fields {
  const {
    epsilonExploreSticky: explorationProbability = 0.01,
    affinityMaxTTFTPenaltyMs: maxTTFTPenaltyMs = 5000,
  } = parameters;
  const bounds = { affinityThreshold, explorationProbability, maxTTFTPenaltyMs };
  const type = 'prefix-cache-affinity-filter';
  return { name, type, parameters: { ...bounds, ttftSource: 'latencyPredictor' } };
}

function noteParameters(parameters: Fields, at: string, notes: OlderNotes): void {
  for (const name of MISSED_WEIGHTS) {
    if (parameters[name] !== undefined) notes.leavesOut(`${at}.${name}`, SAME_WEIGHTS);
  }
  const strategy = String(parameters['headroomSelectionStrategy']);
  if (!strategy.startsWith('composite-')) return;
  notes.leavesOut(
    `${at}.headroomSelectionStrategy`,
    'every endpoint has a prediction, and the least headroom is best',
  );
}

const NEWEST =
  'predicted-latency-producer, latency-slo-admitter, and a profile of prefix-cache-affinity-filter, slo-headroom-tier-filter, latency-scorer and weighted-random-picker';

type Names = readonly (readonly [from: string, to: string])[];

const OF_SCORER: Names = [
  ['headroomTTFTWeight', 'ttftWeight'],
  ['headroomTPOTWeight', 'tpotWeight'],
  ['headroomSelectionStrategy', 'headroomSelectionStrategy'],
  ['compositeKVWeight', 'compositeKVWeight'],
  ['compositeQueueWeight', 'compositeQueueWeight'],
  ['compositePrefixWeight', 'compositePrefixWeight'],
];

const OF_PRODUCER: Names = [
  ['samplingMean', 'samplingMean'],
  ['maxSampledTokens', 'maxDecodeTokenSamplesForPrediction'],
  ['sloBufferFactor', 'sloBufferFactor'],
  ['contextTTL', 'contextTTL'],
  ['streamingMode', 'streamingMode'],
  ['endpointRoleLabel', 'endpointRoleLabel'],
];

const MISSED_WEIGHTS: readonly string[] = ['negHeadroomTTFTWeight', 'negHeadroomTPOTWeight'];
const SAME_WEIGHTS = 'headroomTTFTWeight and headroomTPOTWeight weigh missed objectives, too';

const KNOWN: ReadonlySet<string> = new Set([
  ...[...OF_SCORER, ...OF_PRODUCER].map(([name]) => name),
  ...MISSED_WEIGHTS,
  'affinityGateTau',
  'affinityGateTauGlobal',
  'affinityMaxTTFTPenaltyMs',
  'epsilonExploreNeg',
  'epsilonExploreSticky',
  'selectionMode',
]);

function renamed(parameters: Fields, pairs: Names): Fields {
  const given = pairs.filter(([from]) => parameters[from] !== undefined);
  return Object.fromEntries(given.map(([from, to]) => [to, parameters[from]]));
}

function nameOf(plugin: Fields): string {
  return String(plugin['name'] || plugin['type']);
}

/** The plugins that a profile names. */
function names(profile: unknown): readonly string[] {
  const refs = isPlainObject(profile) ? (listOf(profile['plugins']) ?? []) : [];
  return refs.map((ref) => (isPlainObject(ref) ? String(ref['pluginRef']) : ''));
}

function typeOfName(plugins: readonly unknown[], name: string): string {
  return String(plugins.filter(isPlainObject).find((each) => nameOf(each) === name)?.['type']);
}

function hasType(plugins: readonly unknown[], type: unknown): boolean {
  return plugins.some((each) => isPlainObject(each) && each['type'] === type);
}

function hasName(plugins: readonly unknown[], name: string): boolean {
  return plugins.some((each) => isPlainObject(each) && nameOf(each) === name);
}

function hasPicker(plugins: readonly unknown[]): boolean {
  return plugins.some((each) => isPlainObject(each) && String(each['type']).endsWith('-picker'));
}

function isOtherPicker(type: string): boolean {
  return type !== MAX_PICKER && type.endsWith('-picker');
}
