import { describe, expect, test } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { loadConfig } from '../load.ts';
import { referenceDifferences } from './reference-differences.ts';

function load(config: object, apiVersion = 'llm-d.ai/v1alpha1'): PickerPlan {
  const text = JSON.stringify({ apiVersion, kind: 'EndpointPickerConfig', ...config });
  return loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE });
}

describe('referenceDifferences', () => {
  test('[D364] a file of llm-d.ai/v1 refuses a prompt that none can prefill, unless it says otherwise', () => {
    const handler = (parameters?: object): object => ({
      plugins: [
        { type: 'disagg-profile-handler', parameters },
        { type: 'always-disagg-pd-decider' },
        { type: 'queue-scorer' },
      ],
      schedulingProfiles: [{ name: 'decode', plugins: [{ pluginRef: 'queue-scorer' }] }],
    });
    const said = (config: object, version?: string): string | undefined =>
      referenceDifferences(load(config, version)).find((text) => text.startsWith('always-'));
    expect(said(handler(), 'llm-d.ai/v1')).toContain('is refused, as in releases after 0.10');
    for (const [parameters, version] of [
      [undefined, 'llm-d.ai/v1alpha1'],
      [{ prefillRequired: false }, 'llm-d.ai/v1'],
    ] as const) {
      expect(said(handler(parameters), version)).toContain('is computed by the decoding endpoint');
    }
  });

  test.each([
    ['models-data-source', 'endpoints are asked every second'],
    ['token-producer', 'a prompt waits 100 ms for its tokens'],
    ['probabilistic-admitter', 'an endpoint that was never scraped counts as full'],
    ['burst-prefix-cache-producer', 'a window is 10 s at most'],
    ['topology-extractor', 'the host of an endpoint is the node of its pod'],
    ['destination-endpoint-served-verifier', 'one text says that the proxy did not name'],
    ['topology-affinity-scorer', 'without a topology-extractor in plugins one is added'],
    ['no-hit-lru-scorer', 'endpoints that never got a prompt without a match score alike'],
    ['program-aware-fairness', 'with las, what a program got always counts less with time'],
    ['weighted-random-picker', 'where maxNumOfEndpoints is above 1'],
  ])('[D365] what differs is said of %s: %s', (type, text) => {
    const said = referenceDifferences(load({ plugins: [{ type }] })).join('\n');
    expect(said).toContain(`${type}: ${text}`);
  });

  test.each([
    [{ interval: '75ms' }, 'its interval of 75 ms is kept; there it is rounded to a multiple of'],
    [
      { scheme: 'https', caCertPath: '/ca.crt' },
      'without the files of its certificates its scrapes fail',
    ],
  ])('[D621] what differs is said of a metrics-data-source with %j', (parameters, text) => {
    const source = (given: object): string =>
      referenceDifferences(
        load({ plugins: [{ type: 'metrics-data-source', parameters: given }] }),
      ).join('\n');
    expect(source(parameters)).toContain(`metrics-data-source: ${text}`);
    expect(source({ interval: '100ms', scheme: 'https' })).not.toContain(text);
  });

  test('[D505] utilization-filter reads the last sample, as there, and nothing else is said of it', () => {
    const conditions = [{ metric: 'waiting-queue', maxValue: 3 }];
    const plugins = [{ type: 'utilization-filter', parameters: { conditions } }];
    expect(referenceDifferences(load({ plugins })).join('\n')).not.toContain('utilization-filter');
  });
});
