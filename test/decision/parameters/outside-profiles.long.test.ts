import { describe, expect, it } from 'vitest';
import { SERVING_CATALOGUE } from '../../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { PickerPlan } from '../../../src/picker/plan/picker-plan.ts';
import { documentedParameters, type Parameter } from '../../docs/documented-parameters.ts';
import { besideOf } from './beside.ts';
import { surroundingsOf } from './surroundings.ts';
import { triedValues, withValue } from './tried-values.ts';
import { type Seen, whatIsSeen } from './whole-picker.ts';

/**
 * A parameter outside the profiles shows: of some values, at least one changes what users see of a
 * whole picker in drawn traffic, or a note says that it has no effect.
 */

const catalogue = SERVING_CATALOGUE;
const SECTIONS: ReadonlySet<string> = new Set(['hold', 'ejection', 'capacity', 'flowControl']);
const BURST = 'src/plugins/producers/burst/burst-prefix-producer.test.ts';
const LATENCIES = 'src/plugins/producers/latency-observer/latency-observer.test.ts';
const PROGRAMS = 'src/flow/control/fairness/programs.test.ts';
const PICKERS = new Set(catalogue.pickers.map(({ type }) => type));
/** Their parameters are tried elsewhere, one plugin alone. */
const ALONE = new Set([...catalogue.filters, ...catalogue.scorers].map(({ type }) => type));

/** Parameters that one drawn situation cannot show, and the test that does. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'assignment-informer classes[].name': 'src/plugins/producers/assignment-informer.test.ts',
  'burst-prefix-cache-producer balanceBy': BURST,
  'burst-prefix-cache-producer maxPerReplica': BURST,
  'ejection failurePercent': 'src/picker/ejection/endpoint-health.test.ts',
  'ejection silenceMs': 'src/picker/ejection/own-delay.test.ts',
  'flowControl noEndpointRequestTTL': 'src/flow/control/flow-control.test.ts',
  'latency-observer-producer-hub bucketHistorySize': LATENCIES,
  'latency-observer-producer-hub lowPercentile': LATENCIES,
  'latency-observer-producer-hub windowSize': LATENCIES,
  'program-aware-fairness evictionSweepSeconds': PROGRAMS,
  'program-aware-fairness evictionTtlSeconds': PROGRAMS,
};
/** Whole types. `remote` asks another process, and `tokenizer` is token-producer's older name. */
const TYPES_ELSEWHERE: Readonly<Record<string, string>> = {
  remote: 'src/remote/remote-scheduler.test.ts',
  tokenizer: 'src/endpoints/tokenize/token-producer.test.ts',
  'file-discovery': 'src/endpoints/discovery/file/file-discovery.test.ts',
  'multicluster-file-discovery': 'src/endpoints/discovery/file/file-discovery.test.ts',
};

/** Undefined where the configuration is refused. */
function planOf(config: object): PickerPlan | undefined {
  const head = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
  const text = JSON.stringify({ dataLayer: { injectDefaults: false }, ...head, ...config });
  try {
    return loadConfig({ text, source: 'test', catalogue });
  } catch {
    return undefined;
  }
}

const SCRAPES = /metrics-data-source|core-metrics-extractor|models-data-source|dcgm/;
const known = new Map<string, Promise<Seen>>();

function seenWith(config: object, plan: PickerPlan): Promise<Seen> {
  const key = JSON.stringify(config);
  const seen = known.get(key) ?? whatIsSeen(plan, SCRAPES.test(key));
  known.set(key, seen);
  return seen;
}

async function differs(one: Seen, other: Seen): Promise<boolean> {
  if (one.happened.join('\n') !== other.happened.join('\n')) return true;
  return (await one.page()) !== (await other.page());
}

/** What notes say of a parameter, or of what contains it. */
function notesOf({ notes }: PickerPlan, type: string, path: readonly string[]): readonly string[] {
  const at = [...(SECTIONS.has(type) ? [type] : []), ...path].join('.');
  const about = notes.filter((note) => {
    if (note.reason === 'deprecated' || note.reason === 'unverified') return false;
    const noted = note.path.replace(/\[\d+\]/g, '').replace(/^plugins\.parameters\.?/, '');
    return noted === '' || `${at}.`.startsWith(`${noted}.`);
  });
  return about.map(({ text }) => text);
}

/** How a parameter shows: by what is seen, by a note, or not at all. */
async function showing({ type, path, values }: Parameter): Promise<string> {
  const around = surroundingsOf(type, PICKERS.has(type));
  const base = besideOf(type, path);
  const config = around(base);
  const plan = planOf(config);
  if (plan === undefined) return 'the configuration without it is refused';
  const before = await seenWith(config, plan);
  let accepted = 0;
  let noted = 0;
  for (const value of triedValues(type, path, values)) {
    const given = around(withValue(base, path, value));
    const changed = planOf(given);
    if (changed === undefined) continue;
    accepted += 1;
    const isOther = await differs(before, await seenWith(given, changed));
    const notes = notesOf(changed, type, path);
    if (isOther && notes.some((text) => / ha(?:s|ve) no effect/.test(text))) {
      return `noted, and ${JSON.stringify(value)} is seen`;
    }
    if (isOther) return 'seen';
    if (notes.length > 0) noted += 1;
  }
  if (noted > 0) return 'noted';
  return accepted === 0 ? 'every value is refused' : 'nothing changes';
}

const parameters = documentedParameters().filter(
  ({ type, isFixed, values }) => !ALONE.has(type) && !isFixed && !/object|anything/.test(values),
);
const types = new Set(parameters.map(({ type }) => type));
for (const type of Object.keys(TYPES_ELSEWHERE)) types.delete(type);
for (const type of types) {
  describe(`parameters of ${type}`, () => {
    const own = parameters.filter(
      (each) => each.type === type && ELSEWHERE[`${type} ${each.name}`] === undefined,
    );
    it.each(own)('[D617] $name shows, or has a note', async (parameter) => {
      expect(await showing(parameter)).toMatch(/^(?:seen|noted)$/);
    });
  });
}
