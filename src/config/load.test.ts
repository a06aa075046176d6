import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { HEAD, load } from '../../test/support/load-text.ts';
import { EMBEDDED_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { DEFAULT_CONFIG, defaultConfig, NAMED_CONFIGS } from './defaults.ts';
import { loadConfig } from './load.ts';
import { readConfigText } from './schema/schema.ts';

function profilesOf({ profiles }: PickerPlan): readonly string[] {
  return profiles.map(
    ({ name, plugins }) =>
      `${name}: ${plugins
        .map(({ plugin, weight }) =>
          plugin.kind === 'scorer' ? `${plugin.name}×${weight}` : plugin.name,
        )
        .join(' ')}`,
  );
}

function namesOf({ plugins }: PickerPlan): readonly string[] {
  return plugins.map(({ name }) => name);
}

it('[P53] the value of the default policy is that of its text', () => {
  expect(defaultConfig()).toEqual(readConfigText(DEFAULT_CONFIG, 'default'));
});

it('[D420] reads words and numbers of a configuration as the reference does', () => {
  const plan = load(
    'plugins: [{type: queue-scorer}]\n' +
      'dataLayer: {injectDefaults: no}\n' +
      'schedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer, weight: 010}]}]\n',
  );
  expect(profilesOf(plan)).toEqual(['a: queue-scorer×8 max-score-picker']);
  expect(namesOf(plan)).not.toContain('metrics-data-source');
});

describe('the built-in configurations', () => {
  it.each([...NAMED_CONFIGS])('%s loads without a warning', (_name, text) => {
    const plan = loadConfig({ text, source: 'built-in', catalogue: EMBEDDED_CATALOGUE });
    expect(plan.warnings).toEqual([]);
    expect(plan.profiles).toHaveLength(1);
  });

  it("has the reference's own default with its weights, producer and picker", () => {
    const plan = load('', NAMED_CONFIGS.get('reference-default'));
    expect(profilesOf(plan)).toEqual([
      'default: queue-scorer×2 kv-cache-utilization-scorer×2 prefix-cache-scorer×3 max-score-picker',
    ]);
    expect(namesOf(plan)).toContain('approx-prefix-cache-producer');
    expect(plan.handler.name).toBe('single-profile-handler');
  });
});

describe('published configurations', () => {
  it('says what holds instead of a feature gate that changes nothing', () => {
    const gates =
      'featureGates: [haPopulateNonLeaderDatastore=false]\nplugins: [{type: queue-scorer}]';
    expect(load(gates).notes).toEqual([
      expect.objectContaining({ path: 'featureGates[0]', reason: 'own-way' }),
    ]);
  });

  it('loads the one with two prefix caches, each reading its own producer', () => {
    const plan = load(`
plugins:
- type: prefix-cache-scorer
  name: gpu-prefix-cache-scorer
- type: approx-prefix-cache-producer
  name: cpu-prefix-producer
  parameters: {autoTune: false, lruCapacityPerServer: 1000}
- type: prefix-cache-scorer
  name: cpu-prefix-cache-scorer
  parameters: {prefixMatchInfoProducerName: cpu-prefix-producer}
- type: queue-scorer
- type: kv-cache-utilization-scorer
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: gpu-prefix-cache-scorer, weight: 1}
  - {pluginRef: cpu-prefix-cache-scorer, weight: 1}
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
`);
    const producers = plan.plugins
      .filter(({ definition }) => definition.type === 'approx-prefix-cache-producer')
      .map(({ name }) => name);
    expect(producers).toEqual(['cpu-prefix-producer', 'approx-prefix-cache-producer']);
    expect(plan.warnings).toEqual([]);
  });

  it('loads the one that spreads cold prompts', () => {
    const plan = load(`
plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
- type: no-hit-lru-scorer
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
  - {pluginRef: no-hit-lru-scorer, weight: 2}
`);
    expect(profilesOf(plan)).toEqual([
      'default: queue-scorer×2 kv-cache-utilization-scorer×2 prefix-cache-scorer×3 no-hit-lru-scorer×2 max-score-picker',
    ]);
  });

  it('loads the one that does not look into bodies, and says what has no effect', () => {
    const plan = load(`
plugins:
- type: passthrough-parser
- type: active-request-scorer
- type: session-affinity-scorer
- type: inflight-load-producer
  parameters: {syncCrossReplicaState: true}
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: active-request-scorer, weight: 2}
  - {pluginRef: session-affinity-scorer, weight: 1}
requestHandler:
  parsers:
  - pluginRef: passthrough-parser
`);
    expect(plan.warnings).toEqual([
      'plugins[3].parameters have no effect on inflight-load-producer: the ledger always counts what is in flight',
    ]);
    expect(plan.parsers).toEqual(['passthrough-parser']);
  });

  it('[D32] has the parsers that it names, by their types and in its order', () => {
    const plugins = 'plugins: [{type: vllmgrpc-parser, name: mine}, {type: openai-parser}]\n';
    const list = 'requestHandler: {parsers: [{pluginRef: mine}, {pluginRef: openai-parser}]}\n';
    const { parsers, effective } = load(`${plugins}${list}`);
    expect(parsers).toEqual(['vllmgrpc-parser', 'openai-parser']);
    expect(effective.requestHandler).toEqual({
      parsers: [{ pluginRef: 'mine' }, { pluginRef: 'openai-parser' }],
    });
    expect(load(`${plugins}parser: {pluginRef: mine}\n`).parsers).toEqual(['vllmgrpc-parser']);
    const both = load(`${plugins}${list}parser: {pluginRef: mine}\n`);
    expect(both.parsers).toEqual(parsers);
    expect(load(plugins).parsers).toEqual([]);
    expect(load(plugins).effective).not.toHaveProperty('requestHandler');
  });
});

describe('defaults', () => {
  it('puts every filter, scorer and picker into one profile when none is written', () => {
    const plan = load(`
plugins:
- type: decode-filter
- type: queue-scorer
- type: random-picker
`);
    expect(profilesOf(plan)).toEqual(['default: decode-filter queue-scorer×1 random-picker']);
  });

  it('runs an empty configuration: scrapes, and picks by chance', () => {
    const plan = load('');
    expect(profilesOf(plan)).toEqual(['default: max-score-picker']);
    expect(namesOf(plan)).toEqual([
      'max-score-picker',
      'single-profile-handler',
      'metrics-data-source',
      'core-metrics-extractor',
    ]);
  });

  it('injects no metrics source where one reads its page, and none where injectDefaults is false', () => {
    const own = load(`
plugins:
- type: metrics-data-source
  name: slow-scrapes
  parameters: {interval: 1s}
- type: core-metrics-extractor
dataLayer:
  sources: [{pluginRef: slow-scrapes, extractors: [{pluginRef: core-metrics-extractor}]}]
`);
    expect(namesOf(own)).not.toContain('metrics-data-source');
    expect(namesOf(own)).toContain('core-metrics-extractor');
    const bare = load('dataLayer: {injectDefaults: false}\n');
    expect(namesOf(bare)).toEqual(['max-score-picker', 'single-profile-handler']);
  });

  it('takes lists that are written and left empty, as YAML allows', () => {
    expect(profilesOf(load('plugins:\nschedulingProfiles:\ndataLayer:\n'))).toEqual([
      'default: max-score-picker',
    ]);
  });

  it('reads JSON as well', () => {
    const text = JSON.stringify({ apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' });
    expect(load('', text).handler.name).toBe('single-profile-handler');
  });

  it('finds the endpoints file', () => {
    const plan = load(`
plugins:
- type: file-discovery
  name: pool
  parameters: {path: /etc/endpoints.yaml, watchFile: true}
dataLayer:
  discovery: {pluginRef: pool}
`);
    expect(plan.discovery).toEqual({ path: '/etc/endpoints.yaml', watchFile: true });
  });
});

describe('the effective configuration', () => {
  it.each([
    ...NAMED_CONFIGS.values(),
    `${HEAD}
plugins:
- {type: queue-scorer, name: q}
- {type: weighted-random-picker, parameters: {maxNumOfEndpoints: 2}}
- {type: file-discovery, name: pool, parameters: {path: endpoints.yaml}}
- {type: metrics-data-source, parameters: {interval: 20ms}}
dataLayer: {discovery: {pluginRef: pool}}
`,
  ])('is a configuration that gives the same plan (%#)', (text) => {
    const plan = load('', text);
    const again = load('', stringify(plan.effective));
    expect(again).toEqual(plan);
  });
});

describe('warnings', () => {
  it('says what has no effect', () => {
    const plan = load(
      `
plugins:
- {type: by-label, parameters: {label: tier, validValues: [gold]}}
- type: queue-scorer
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: by-label, weight: 2}
  - {pluginRef: queue-scorer, weight: 2}
featureGates: [flowControl, haPopulateNonLeaderDatastore=true]
flowControl: {maxRequests: 100}
saturationDetector: {pluginRef: utilization-detector}
`,
      'apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\n',
    );
    expect(plan.warnings).toEqual([
      'apiVersion inference.networking.x-k8s.io/v1alpha1 is deprecated; write llm-d.ai/v1alpha1',
      'plugins[0]: by-label is deprecated; write label-selector-filter',
      'schedulingProfiles[0].plugins[0].weight has no effect: by-label is a filter, and only scorers have weights',
    ]);
  });
});
