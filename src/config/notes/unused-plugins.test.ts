import { expect, test } from 'vitest';
import { SERVING_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../load.ts';

const PRECISE = 'precise-prefix-cache-producer';

function notesOf(plugins: readonly object[]): readonly string[] {
  const config = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig', plugins };
  const text = JSON.stringify(config);
  const { notes } = loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE });
  return notes.filter(({ reason }) => reason === 'unused').map(({ text: note }) => note);
}

test('[D6] a precise index that no scorer reads is noted, with what to write', () => {
  const of = (parameters: object) => [{ type: 'prefix-cache-scorer', parameters }];
  expect(notesOf([{ type: PRECISE }, ...of({})])).toEqual([
    `plugins[0]: no scorer reads what ${PRECISE} finds; write prefixMatchInfoProducerName: ${PRECISE} at the one that shall`,
  ]);
  expect(notesOf([{ type: PRECISE }, ...of({ prefixMatchInfoProducerName: PRECISE })])).toEqual([]);
  const named = { type: PRECISE, name: 'events' };
  expect(notesOf([named, ...of({ prefixMatchInfoProducerName: 'events' })])).toEqual([]);
  expect(notesOf([named, ...of({})])).toHaveLength(1);
  expect(notesOf([{ type: PRECISE }, { type: 'precise-prefix-cache-scorer' }])).toEqual([]);
});
