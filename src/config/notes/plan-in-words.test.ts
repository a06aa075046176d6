import { expect, test } from 'vitest';
import { SERVING_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../load.ts';
import { planInWords } from './plan-in-words.ts';

test.each([
  [false, '  1. All endpoints are candidates.'],
  [true, '  1. context-length-aware keeps some of the endpoints.'],
])(
  '[D414] a scorer that filters, too (%s), is named among the filters',
  (enableFiltering, first) => {
    const config = {
      apiVersion: 'llm-d.ai/v1alpha1',
      kind: 'EndpointPickerConfig',
      plugins: [{ type: 'context-length-aware', parameters: { enableFiltering } }],
    };
    const text = JSON.stringify(config);
    const words = planInWords(loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE }));
    expect(words).toContain(first);
    expect(words).toContain('  2. Each is rated by 1 × context-length-aware.');
  },
);

test.each([
  [{}, []],
  [{ hold: { enabled: false } }, []],
  [
    { hold: { maxWaitMs: 90_000 }, capacity: { maxConcurrency: 64 } },
    [
      'An endpoint has at most 64 requests in flight (capacity).',
      'A request waits at the picker, up to 90 s, until its endpoint can begin it (hold).',
    ],
  ],
  [
    { capacity: { maxConcurrency: 64, maxConcurrencyLabel: 'seats' } },
    [
      'An endpoint has at most 64 requests in flight, or as many as its label seats says (capacity).',
    ],
  ],
])('[O369] says whether a request waits for its endpoint, and for what: %j', (more, last) => {
  const config = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig', ...more };
  const text = JSON.stringify(config);
  const words = planInWords(loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE }));
  expect(words.slice(words.indexOf('  3. max-score-picker picks among them.') + 1)).toEqual(last);
});
