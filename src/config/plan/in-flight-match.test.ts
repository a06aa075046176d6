import { expect, test } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../load.ts';

const VERSION = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };

function load(config: object) {
  const text = JSON.stringify({ ...VERSION, ...config });
  return loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE });
}

const notesOf = (config: object): readonly string[] =>
  load(config).notes.map(({ path, reason }) => `${path}: ${reason}`);

test('[D307] tokens in flight are counted by the match that the producer of loads names', () => {
  const match = { prefixMatchInfoProducerName: 'exact' };
  const exact = { type: 'precise-prefix-cache-producer', name: 'exact' };
  const loads = { type: 'inflight-load-producer', parameters: match };
  const configOf = (plugins: readonly object[]) => {
    const plan = load({ plugins: [exact, { type: 'token-load-scorer' }, ...plugins] });
    const scorer = plan.plugins.find(({ name }) => name === 'token-load-scorer');
    const types = new Set(plan.plugins.map(({ definition }) => definition.type));
    return [scorer?.config, types.has('approx-prefix-cache-producer')];
  };
  expect(configOf([loads])).toEqual([expect.objectContaining(match), false]);
  expect(configOf([])).toEqual([
    expect.objectContaining({ prefixMatchInfoProducerName: 'approx-prefix-cache-producer' }),
    true,
  ]);
  // Another one is in force only where the scorer names it.
  expect(configOf([{ ...loads, name: 'other' }])[1]).toBe(true);
  const named = { type: 'token-load-scorer', parameters: { inFlightLoadProducerName: 'other' } };
  const plugins = [exact, { ...loads, name: 'other' }, named];
  expect(load({ plugins }).plugins[2]?.config).toMatchObject(match);
  // The ledger counts by what the first producer of loads names.
  expect(load({ plugins: [exact, loads] }).inFlightMatch).toBe('exact');
  expect(load({ plugins: [exact] }).inFlightMatch).toBeUndefined();
  expect(notesOf({ plugins: [exact, loads, { type: 'token-load-scorer' }] })).toEqual([]);
  const more = { ...loads, parameters: { ...match, syncCrossReplicaState: true } };
  expect(notesOf({ plugins: [exact, more] })).toEqual([
    'plugins[1].parameters.syncCrossReplicaState: core',
  ]);
});

test('[D327] tokens of answers count as the producer of loads says, without a note', () => {
  const loads = (parameters: object) => ({ type: 'inflight-load-producer', parameters });
  const scorer = { type: 'token-load-scorer' };
  const outputOf = (...plugins: readonly object[]) => {
    const plan = load({ plugins });
    const named = plan.plugins.find(({ name }) => name === 'token-load-scorer');
    const own = named?.config as { readonly outputEstimate?: unknown } | undefined;
    expect(load(plan.effective).outputEstimate).toEqual(plan.outputEstimate);
    return [plan.outputEstimate, own?.outputEstimate];
  };
  expect(outputOf(scorer, loads({}))).toEqual([undefined, undefined]);
  expect(outputOf(scorer, loads({ outputRatio: 3 }))).toEqual([undefined, undefined]);
  const usual = { ratio: 1.5 };
  expect(outputOf(scorer, loads({ addEstimatedOutputTokens: true }))).toEqual([usual, usual]);
  const none = { ratio: 0 };
  expect(outputOf(scorer, loads({ addEstimatedOutputTokens: true, outputRatio: 0 }))).toEqual([
    none,
    none,
  ]);
  const given = { addEstimatedOutputTokens: true, outputRatio: 2, maxEstimatedOutputTokens: 100 };
  const bounded = { ratio: 2, max: 100 };
  expect(outputOf(loads(given), scorer)).toEqual([bounded, bounded]);
  expect(notesOf({ plugins: [loads(given), scorer] })).toEqual([]);
  const lengths = { type: 'outlen-bucket' };
  expect(outputOf(lengths, loads(given), scorer)).toEqual([{ max: 100 }, { max: 100 }]);
  expect(outputOf(lengths, loads({}), scorer)).toEqual([undefined, undefined]);
});

test('[D602] of several producers of loads the first one counts, and a note names the others that differ', () => {
  const loads = { type: 'inflight-load-producer' };
  const other = { ...loads, name: 'other', parameters: { addEstimatedOutputTokens: true } };
  const again = { ...loads, name: 'again' };
  const { notes, outputEstimate } = load({ plugins: [loads, other, again] });
  expect(outputEstimate).toBeUndefined();
  const [note] = notes.filter(({ reason }) => reason === 'own-way');
  expect(note?.path).toBe('plugins[1]');
  expect(note?.text).toContain('as inflight-load-producer says');
  expect(notes.filter(({ path }) => path === 'plugins[2]')).toEqual([]);
});
