import { describe, expect, it } from 'vitest';
import { neededParameters } from '../../test/support/plugins/needed-parameters.ts';
import { SERVING_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { NAMED_CONFIGS } from './defaults.ts';
import { loadConfig } from './load.ts';

const catalogue = SERVING_CATALOGUE;
const load = (text: string): PickerPlan => loadConfig({ text, source: 'test', catalogue });
const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';

/** Types that read a parameter into something else, each with such parameters. */
const READ_OTHERWISE: Readonly<Record<string, readonly string[]>> = {
  'header-label-affinity-scorer': ['{headerName: X-Role, labelKey: role}'],
  'priority-holdback-policy': ['{domain: explicit, ceilings: {"0": 0.5, "10": 1}}'],
  'utilization-detector': ['{metricsStalenessThreshold: 1m30s}'],
  'session-id-producer': ['{headerName: x-chat}', '{cookieName: chat}'],
  'metrics-data-source': ['{interval: 1s}'],
  'core-metrics-extractor': ['{engineConfigs: [{name: mine, queuedRequestsSpec: waiting}]}'],
  'assignment-informer': [
    '{classes: [{name: a, share: 1}, {name: b, share: 2}], mode: shares, reassignInterval: 1m}',
  ],
  'precise-prefix-cache-scorer': ['{tokenProcessorConfig: {blockSizeTokens: 32}}'],
  'precise-prefix-cache-producer': ['{speculativeIndexing: true, speculativeTTL: 5s}'],
};
/** Tested beside it: its parameters have defaults in a list, which are written out. */
const ELSEWHERE = 'request-attribute-reporter';
/** Useless without another. */
const TOGETHER: Readonly<Record<string, string>> = {
  'assignment-filter': 'assignment-informer',
  'assignment-scorer': 'assignment-informer',
  'multicluster-kv-cache-utilization-scorer': 'multicluster-metrics-extractor',
  'multicluster-queue-scorer': 'multicluster-metrics-extractor',
};
const types = [
  ...catalogue.scorers,
  ...catalogue.filters,
  ...catalogue.pickers,
  ...catalogue.dataSources,
].map(({ type }) => type);

/** As YAML. */
const parametersOf = (type: string): string => JSON.stringify(neededParameters(type));

const cases = types
  .filter((type) => type !== ELSEWHERE)
  .flatMap((type) =>
    [parametersOf(type), ...(READ_OTHERWISE[type] ?? [])].map((parameters) => [type, parameters]),
  );

describe('an effective configuration', () => {
  it.each(cases)('is a configuration that gives itself again: %s %s', (type, parameters) => {
    const other = TOGETHER[type];
    const beside =
      other === undefined ? '' : `, {type: ${other}, parameters: ${parametersOf(other)}}`;
    const plugins = `plugins: [{type: ${type}, parameters: ${parameters}}${beside}]`;
    const { effective } = load(HEAD + plugins);
    const written = JSON.stringify(effective);
    const again = load(written);
    expect(JSON.stringify(again.effective)).toBe(written);
    expect(again.plugins.map(({ config }) => config)).toEqual(
      load(HEAD + plugins).plugins.map(({ config }) => config),
    );
  });

  it.each([...NAMED_CONFIGS.keys()])('gives itself again: %s', (name) => {
    const written = JSON.stringify(load(NAMED_CONFIGS.get(name) ?? '').effective);
    expect(JSON.stringify(load(written).effective)).toBe(written);
  });
});
