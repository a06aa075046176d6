import type { OutputEstimate } from '../../framework/output-estimate.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import { sameParameters } from '../../picker/plan/same-parameters.ts';
import type { PluginTable } from './plugin-table.ts';

/** The reference's plugin that counts what is in flight. */
export const LOAD_PRODUCER = 'inflight-load-producer';
const READERS: ReadonlySet<string> = new Set(['lmetric-scorer', 'token-load-scorer']);
/** What it says about tokens of answers. */
export const OUTPUT_PARAMETERS: readonly string[] = [
  'addEstimatedOutputTokens',
  'outputRatio',
  'maxEstimatedOutputTokens',
];
/** With this plugin, the length of an answer is what its request says, and no ratio. */
const LENGTHS = 'outlen-bucket';
/** The reference's default. */
const OUTPUT_RATIO = 1.5;

interface LoadParameters {
  readonly addEstimatedOutputTokens?: boolean | undefined;
  readonly outputRatio?: number | undefined;
  readonly maxEstimatedOutputTokens?: number | undefined;
}

/** Names the index that says what of a prompt is in a cache. */
export const MATCH = 'prefixMatchInfoProducerName';

/**
 * As in the reference, a scorer of tokens in flight takes what a prompt has in a cache from where
 * the producer of loads that it names takes it. Its own parameter, which the reference does not
 * have, counts first. Returns the index that the first producer of loads names, if there is one:
 * the ledger counts cached tokens by it.
 */
export function planInFlightMatch(table: PluginTable): string | undefined {
  const plugins = [...table.plugins()];
  for (const reader of plugins) {
    if (!READERS.has(reader.definition.type) || table.gives(reader.name, MATCH)) continue;
    const named = textOf(reader.config, 'inFlightLoadProducerName') ?? LOAD_PRODUCER;
    const producer = plugins.find(({ name }) => name === named);
    if (producer?.definition.type !== LOAD_PRODUCER) continue;
    const match = textOf(producer.config, MATCH);
    if (match !== undefined) table.extend(reader, { [MATCH]: match });
  }
  const first = plugins.find(({ definition }) => definition.type === LOAD_PRODUCER);
  return textOf(first?.config, MATCH);
}

/** Counts its own estimate of an answer beside what is in flight. */
const COUNTS_OUTPUT = 'token-load-scorer';
const OUTPUT = 'outputEstimate';

/**
 * How tokens of answers are counted: as the first producer of loads says, undefined where it does
 * not count them. The scorer of tokens in flight counts the answer of its request alike, unless its
 * own parameter says otherwise.
 */
export function planOutputEstimate(table: PluginTable): OutputEstimate | undefined {
  const plugins = [...table.plugins()];
  const producer = plugins.find(({ definition }) => definition.type === LOAD_PRODUCER);
  const { addEstimatedOutputTokens, outputRatio, maxEstimatedOutputTokens } =
    (producer?.config as LoadParameters | undefined) ?? {};
  if (addEstimatedOutputTokens !== true) return undefined;
  const byLength = plugins.some(({ definition }) => definition.type === LENGTHS);
  const ratio = byLength ? undefined : (outputRatio ?? OUTPUT_RATIO);
  const max = maxEstimatedOutputTokens;
  const estimate = { ...(ratio !== undefined && { ratio }), ...(max !== undefined && { max }) };
  for (const reader of plugins) {
    if (reader.definition.type !== COUNTS_OUTPUT || table.gives(reader.name, OUTPUT)) continue;
    table.extend(reader, { [OUTPUT]: estimate });
  }
  return estimate;
}

/**
 * Adds a note for each further producer of loads, which has little effect: there is one ledger of
 * what is in flight.
 */
export function noteOtherLedgers(table: PluginTable, notes: ConfigNote[]): void {
  const producers = [...table.plugins()].filter(
    ({ definition }) => definition.type === LOAD_PRODUCER,
  );
  const [first, ...others] = producers;
  for (const other of first === undefined ? [] : others) {
    if (sameParameters(other.config, first?.config)) continue;
    const path = table.pathOf(other.name);
    const text = `${path} has little effect: loads are counted once, as ${first?.name} says, the first ${LOAD_PRODUCER}; only scorers of tokens that name ${other.name} take what a prompt has in a cache from its ${MATCH}`;
    notes.push({ path, reason: 'own-way', text });
  }
}

/** A text of a plugin's parameters; undefined where it is empty, too. */
function textOf(config: unknown, parameter: string): string | undefined {
  const value = (config as Readonly<Record<string, unknown>> | undefined)?.[parameter];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
