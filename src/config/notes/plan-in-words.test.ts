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
