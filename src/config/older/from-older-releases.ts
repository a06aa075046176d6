import { isPlainObject } from '../../framework/values/plain-object.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import { API_VERSION_V1, CONFIG_KIND } from '../schema/schema.ts';
import { type Fields, listOf, valueAt, without, withValue } from './fields.ts';
import {
  DETECTOR_FIELDS,
  ENGINE_PARAMETERS,
  INDEX_PARAMETERS,
  OLDER_CHOICES,
  OLDER_PARAMETER_NAMES,
  OLDER_TYPE_NAMES,
  type OlderChoice,
  type Rename,
} from './older-names.ts';
import { OlderNotes } from './older-notes.ts';
import { AGENTS, withSessionSources } from './older-sessions.ts';
import { splitLatencyScorers } from './split-latency-scorers.ts';

/** Older releases counted characters where the newest counts tokens. */
const CHARACTERS_PER_TOKEN = 4;

/** A configuration and a note for each part that was written for an older release. */
interface Newer {
  readonly value: unknown;
  readonly notes: readonly ConfigNote[];
}

/**
 * A configuration that an older release of the reference picker reads, as the newest reads it: the
 * same plugins, parameters and sections under their newest names. Plugins that it adds come behind
 * the others. What cannot be had under another name stays, and is an error with what to write.
 */
export function fromOlderReleases(value: unknown): Newer {
  const isOlder = isPlainObject(value) && value['apiVersion'] !== API_VERSION_V1;
  // The kind may be left out.
  const kind = isOlder ? value['kind'] || CONFIG_KIND : undefined;
  if (!isOlder || kind !== CONFIG_KIND) return { value, notes: [] };
  const reading = new OlderReading(value);
  return { value: reading.config, notes: reading.notes };
}

class OlderReading {
  readonly #notes = new OlderNotes();
  /** Undefined where the configuration has no list of plugins that can be read. */
  readonly #plugins: unknown[] | undefined;
  #config: Fields;

  constructor(given: Fields) {
    this.#config = given;
    const { plugins } = given;
    this.#plugins = plugins === undefined || plugins === null ? [] : listOf(plugins);
    this.#sections();
    this.#plugins?.forEach((entry, index, all) => {
      if (isPlainObject(entry)) all[index] = this.#plugin(entry, `plugins[${index}]`);
    });
    this.#detector();
    this.#latencyScorers();
  }

  get notes(): readonly ConfigNote[] {
    return this.#notes.list;
  }

  get config(): Fields {
    if (this.#plugins === undefined || this.notes.length === 0) return this.#config;
    return { ...this.#config, plugins: this.#plugins };
  }

  #sections(): void {
    const { data, discovery, ...rest } = this.#config;
    if (isPlainObject(data) && rest['dataLayer'] === undefined) {
      this.#config = without({ ...this.#config, dataLayer: data }, 'data');
      this.#notes.works('data', 'dataLayer');
    }
    this.#parser();
    const layer = this.#config['dataLayer'] ?? {};
    if (!isPlainObject(discovery) || !isPlainObject(layer) || layer['discovery'] !== undefined)
      return;
    this.#config = without({ ...this.#config, dataLayer: { ...layer, discovery } }, 'discovery');
    this.#notes.works('discovery', 'dataLayer.discovery');
  }

  /** There was one parser. */
  #parser(): void {
    const { requestHandler: given } = this.#config;
    if (!isPlainObject(given) || !isPlainObject(given['parser']) || given['parsers'] !== undefined)
      return;
    const requestHandler = { ...without(given, 'parser'), parsers: [given['parser']] };
    this.#config = { ...this.#config, requestHandler };
    this.#notes.works('requestHandler.parser', 'it in requestHandler.parsers');
  }

  #plugin(given: Fields, path: string): Fields {
    let entry = given;
    const type = String(entry['type']);
    const newer = OLDER_TYPE_NAMES.get(type);
    if (newer !== undefined) {
      entry = { ...entry, type: newer, name: entry['name'] || type };
      this.#notes.works(`${path}.type`, newer);
    }
    if (newer === undefined) entry = this.#byMode(entry, path);
    const now = String(entry['type']);
    if (now === 'pd-profile-handler') return this.#withDecider(entry, path);
    const parameters = entry['parameters'];
    if (!isPlainObject(parameters)) return entry;
    const at = `${path}.parameters`;
    const chosen = this.#chosen(parameters, OLDER_CHOICES.get(now), at);
    const agents = this.#has(AGENTS);
    const bound = withSessionSources(now, chosen, agents, this.#notes, at);
    const renamed = this.#renamed(bound, OLDER_PARAMETER_NAMES.get(now) ?? [], at);
    if (now === INDEX) {
      return { ...entry, parameters: this.#inTokens(renamed, at) };
    }
    if (now === 'prefix-cache-scorer')
      return this.#withIndex({ ...entry, parameters: renamed }, at);
    if (now !== 'core-metrics-extractor') return { ...entry, parameters: renamed };
    return { ...entry, parameters: this.#engines(renamed, at) };
  }

  /** The scorer of prefixes followed the engines' events by a mode of its own. */
  #byMode(entry: Fields, path: string): Fields {
    const { type, parameters } = entry;
    if (type !== 'prefix-cache-scorer' || !isPlainObject(parameters)) return entry;
    const at = `${path}.parameters.mode`;
    const rest = without(parameters, 'mode');
    if (parameters['mode'] === 'estimate') {
      this.#notes.works(at, 'nothing, because it is the only mode');
      return { ...entry, parameters: rest };
    }
    if (parameters['mode'] !== 'cache_tracking') return entry;
    this.#notes.works(at, `${PRECISE_SCORER_TYPE} as the type`);
    const name = entry['name'] || type;
    return { ...entry, type: PRECISE_SCORER_TYPE, name, parameters: rest };
  }

  #chosen(parameters: Fields, choice: OlderChoice | undefined, at: string): Fields {
    if (choice === undefined || parameters[choice.to] !== undefined) return parameters;
    const newer = choice.values.get(String(parameters[choice.from]));
    if (newer === undefined) return parameters;
    this.#notes.works(`${at}.${choice.from}`, `${choice.to}: ${newer}`);
    return { ...without(parameters, choice.from), [choice.to]: newer };
  }

  #renamed(parameters: Fields, renames: readonly Rename[], at: string): Fields {
    let result = parameters;
    for (const [from, to, instead] of renames) {
      const value = valueAt(result, from);
      if (value === undefined || (to !== undefined && valueAt(result, to) !== undefined)) continue;
      result = withValue(result, from, undefined);
      if (to !== undefined) result = withValue(result, to, value);
      if (to === undefined) this.#notes.leavesOut(`${at}.${from}`, instead);
      else this.#notes.works(`${at}.${from}`, to);
    }
    return result;
  }

  /** `hashBlockSize` is of releases in which nothing but itself changed the size of blocks. */
  #inTokens(parameters: Fields, at: string): Fields {
    const { hashBlockSize, ...rest } = parameters;
    if (typeof hashBlockSize !== 'number' || rest['blockSizeTokens'] !== undefined)
      return parameters;
    const tokens = Math.max(1, Math.round(hashBlockSize / CHARACTERS_PER_TOKEN));
    this.#notes.works(
      `${at}.hashBlockSize`,
      `blockSizeTokens: ${tokens} and autoTune: false in an ${INDEX}`,
    );
    return { autoTune: false, ...rest, blockSizeTokens: tokens };
  }

  /** The scorer had the index that a producer has now. */
  #withIndex(entry: Fields, at: string): Fields {
    const parameters = entry['parameters'] as Fields;
    const own = INDEX_PARAMETERS.filter((name) => parameters[name] !== undefined);
    const isListed =
      this.#plugins?.some((each) => isPlainObject(each) && each['type'] === INDEX) ?? true;
    if (own.length === 0 || isListed) return entry;
    // The match was bounded by a number of blocks alone.
    const byBlocks = parameters['maxPrefixBlocksToMatch'] !== undefined;
    const given = {
      ...(byBlocks && { maxPrefixTokensToMatch: 0 }),
      ...Object.fromEntries(own.map((name) => [name, parameters[name]])),
    };
    this.#plugins?.push({ type: INDEX, parameters: this.#inTokens(given, at) });
    for (const name of own.filter((each) => each !== 'hashBlockSize')) {
      this.#notes.works(`${at}.${name}`, `it in an ${INDEX}`);
    }
    return { ...entry, parameters: without(parameters, ...own) };
  }

  #engines(parameters: Fields, at: string): Fields {
    const own = ENGINE_PARAMETERS.filter((name) => parameters[name] !== undefined);
    if (own.length === 0 || parameters['engineConfigs'] !== undefined) return parameters;
    for (const name of own) this.#notes.works(`${at}.${name}`, 'it in an entry of engineConfigs');
    const given = Object.fromEntries(own.map((name) => [name, parameters[name]]));
    const name = parameters['defaultEngine'] ?? 'vllm';
    return { ...without(parameters, ...own), engineConfigs: [{ name, ...given }] };
  }

  /**
   * The handler itself decided, by characters that no cache holds: always, unless it had a
   * threshold.
   */
  #withDecider(entry: Fields, path: string): Fields {
    const parameters = entry['parameters'] ?? {};
    if (!isPlainObject(parameters) || this.#plugins === undefined) return entry;
    const { threshold = 0, ...rest } = parameters;
    const isDecided = parameters['deciderPluginName'] !== undefined || this.#has(DECIDER);
    if (typeof threshold !== 'number' || isDecided) return entry;
    const tokens = Math.ceil(threshold / CHARACTERS_PER_TOKEN);
    const decider =
      tokens > 0
        ? { type: DECIDER, parameters: { nonCachedTokens: tokens } }
        : { type: 'always-disagg-pd-decider' };
    if (!this.#has(decider.type)) this.#plugins.push(decider);
    const at = parameters['threshold'] === undefined ? path : `${path}.parameters.threshold`;
    this.#notes.works(at, `${decider.type} as the decider of disagg-profile-handler`);
    return { ...entry, parameters: { ...rest, deciderPluginName: decider.type } };
  }

  /** One scorer predicted, filtered, scored and picked by latency. */
  #latencyScorers(): void {
    if (this.#plugins === undefined) return;
    const split = splitLatencyScorers(
      this.#plugins,
      this.#config['schedulingProfiles'],
      this.#notes,
    );
    if (split === undefined) return;
    this.#plugins.splice(0, this.#plugins.length, ...split.plugins);
    this.#config = { ...this.#config, schedulingProfiles: split.schedulingProfiles };
  }

  #has(name: string): boolean {
    return (
      this.#plugins?.some(
        (each) => isPlainObject(each) && (each['name'] ?? each['type']) === name,
      ) ?? false
    );
  }

  /** The detector had no plugin of its own. */
  #detector(): void {
    const { saturationDetector: given } = this.#config;
    if (!isPlainObject(given) || given['pluginRef'] !== undefined || this.#plugins === undefined)
      return;
    const own = DETECTOR_FIELDS.filter((name) => given[name] !== undefined);
    const type = 'utilization-detector';
    if (own.length === 0 || this.#has(type)) return;
    for (const name of own) this.#notes.works(`saturationDetector.${name}`, `it in a ${type}`);
    const parameters = Object.fromEntries(own.map((name) => [name, given[name]]));
    this.#plugins.push({ type, parameters });
    const saturationDetector = { ...without(given, ...own), pluginRef: type };
    this.#config = { ...this.#config, saturationDetector };
  }
}

const PRECISE_SCORER_TYPE = 'precise-prefix-cache-scorer';
const DECIDER = 'prefix-based-pd-decider';
const INDEX = 'approx-prefix-cache-producer';
