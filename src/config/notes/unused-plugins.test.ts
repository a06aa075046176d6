import { expect, test } from 'vitest';
import { parse } from 'yaml';
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

test('[D613] a producer is noted whose finds nothing reads', () => {
  const prefix = (name: string) => ({
    type: 'prefix-cache-scorer',
    parameters: { prefixMatchInfoProducerName: name },
  });
  const sources = [{ attribute: 'SessionIDDataKey', producer: 'session-id-producer' }];
  const sessions = {
    type: 'session-affinity-scorer',
    parameters: { strategy: 'session_id', sessionIdConfig: { sources } },
  };
  for (const [producer, reader] of [
    ['burst-prefix-cache-producer', prefix('burst-prefix-cache-producer')],
    [
      'multicluster-approx-prefix-cache-producer',
      prefix('multicluster-approx-prefix-cache-producer'),
    ],
    ['session-id-producer', sessions],
    ['topology-extractor', { type: 'topology-affinity-scorer' }],
  ] as const) {
    expect([producer, ...notesOf([{ type: producer }])]).toEqual([
      producer,
      expect.stringContaining(producer),
    ]);
    expect([producer, ...notesOf([{ type: producer }, reader])]).toEqual([producer]);
  }
});

test('[D613] the note about sessions names the source that reads them', () => {
  const [note = ''] = notesOf([{ type: 'session-id-producer', name: 'own' }]);
  const [, source = ''] = /the source (\{.*\}),/.exec(note) ?? [];
  const sessionIdConfig = { sources: [parse(source)] };
  const reader = {
    type: 'session-affinity-scorer',
    parameters: { strategy: 'session_id', sessionIdConfig },
  };
  expect(notesOf([{ type: 'session-id-producer', name: 'own' }, reader])).toEqual([]);
});
