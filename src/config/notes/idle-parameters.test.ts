import { expect, test } from 'vitest';
import { idleParameters } from './idle-parameters.ts';

const AT = 'plugins[0].parameters';
const engineConfigs = [
  { name: 'a', customMetrics: [{ attributeKey: 'k', metricSpec: 'm' }] },
  { name: 'b', customMetrics: [{ attributeKey: 'k', metricSpec: 'm', optional: true }] },
];

test.each([
  ['core-metrics-extractor', { engineConfigs }, ''],
  ['metrics-data-source', { extractors: [{ engineConfigs }] }, 'extractors[0].'],
])('[D617] of %s, whether a custom metric is optional has a note', (type, parameters, before) => {
  const notes = idleParameters(type, parameters, AT).map(({ path }) => path);
  expect(notes).toEqual([`${AT}.${before}engineConfigs[1].customMetrics[0].optional`]);
});

test('[D617] that servers of the pool are to render has no note, and how to choose one has', () => {
  const pathsOf = (endpointDiscovery: object): readonly string[] =>
    idleParameters('token-producer', { vllm: { endpointDiscovery } }, AT).map(({ path }) => path);
  expect(pathsOf({})).toEqual([]);
  expect(pathsOf({ minModelLen: 9 })).toEqual([`${AT}.vllm.endpointDiscovery.minModelLen`]);
});

test.each([
  'approx-prefix-cache-producer',
  'multicluster-approx-prefix-cache-producer',
  'burst-prefix-cache-producer',
])(
  '[D623] a block of %s that is no multiple of 64 tokens has a note with the size that is taken',
  (type) => {
    const textsOf = (blockSizeTokens: number): readonly string[] =>
      idleParameters(type, { blockSizeTokens }, AT).map(({ text }) => text);
    for (const [given, taken] of [
      [4, 64],
      [100, 64],
      [1000, 960],
    ] as const) {
      expect(textsOf(given)).toEqual([
        `${AT}.blockSizeTokens is ${given}: blocks have ${taken} tokens, because they have a multiple of 64`,
      ]);
    }
    for (const tokens of [64, 128]) expect(textsOf(tokens)).toEqual([]);
  },
);
