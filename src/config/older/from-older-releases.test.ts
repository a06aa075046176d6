import { describe, expect, test } from 'vitest';
import { SERVING_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { loadConfig } from '../load.ts';
import { fromOlderReleases } from './from-older-releases.ts';

const HEAD = { apiVersion: 'inference.networking.x-k8s.io/v1alpha1', kind: 'EndpointPickerConfig' };

function load(config: object): PickerPlan {
  const text = JSON.stringify({ ...HEAD, ...config });
  return loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE });
}

/** What decides, without where it is written. */
const decided = ({ effective }: PickerPlan): unknown => {
  const { plugins, ...sections } = effective as { readonly plugins: readonly { name: string }[] };
  return { ...sections, plugins: plugins.toSorted((a, b) => a.name.localeCompare(b.name)) };
};
const plugins = (...types: readonly (readonly [type: string, parameters: object])[]): object => ({
  plugins: types.map(([type, parameters]) => ({ type, parameters })),
});
const stages = (...types: readonly (readonly [type: string, parameters: object])[]): object => ({
  ...plugins(...types),
  schedulingProfiles: [{ name: 'decode' }, { name: 'prefill' }],
});

describe('a configuration of an older release', () => {
  test.each([
    ['stepwise-spread', 'rank'],
    ['linear-proportional', 'value'],
  ])(
    '[D516] has its holdback policy by the strategy %s, which is the domain %s now',
    (strategy, domain) => {
      const holdback = (parameters: object): object => ({
        ...plugins(['priority-holdback-policy', { minCeiling: 0.4, ...parameters }]),
        featureGates: ['flowControl'],
        flowControl: { usageLimitPolicyPluginRef: 'priority-holdback-policy' },
      });
      const older = load(holdback({ strategy }));
      expect(decided(older)).toEqual(decided(load(holdback({ domain }))));
      expect(older.notes.map(({ text }) => text).join()).toContain(`write domain: ${domain}`);
    },
  );

  test('[D516] may leave out its kind', () => {
    const { notes } = load({ kind: undefined, ...plugins(['prefix-cache', {}]) });
    expect(notes.map(({ text }) => text).join()).toContain('write prefix-cache-scorer');
  });

  test('[D518] follows the events of engines by the mode of the scorer of prefixes', () => {
    const events = { zmqEndpoint: 'tcp://*:5557' };
    const parameters = { kvEventsConfig: events, indexerConfig: {} };
    const given = { ...parameters, mode: 'cache_tracking' };
    const schedulingProfiles = [
      { name: 'default', plugins: [{ pluginRef: 'prefix-cache-scorer', weight: 3 }] },
    ];
    const older = load({ ...plugins(['prefix-cache-scorer', given]), schedulingProfiles });
    const type = 'precise-prefix-cache-scorer';
    const newest = { plugins: [{ type, name: 'prefix-cache-scorer', parameters }] };
    expect(decided(older)).toEqual(decided(load({ ...newest, schedulingProfiles })));
    expect(older.notes.map(({ text }) => text).join()).toContain(`write ${type} as the type`);
  });

  test('[D518] estimates the prefixes by the other mode of that scorer', () => {
    const older = load(plugins(['prefix-cache-scorer', { mode: 'estimate' }]));
    expect(decided(older)).toEqual(decided(load(plugins(['prefix-cache-scorer', {}]))));
    expect(older.notes.map(({ path }) => path)).toContain('plugins[0].parameters.mode');
    expect(() => load(plugins(['prefix-cache-scorer', { mode: 'other' }]))).toThrow(/mode/);
  });

  test.each([
    ['its own tokenizers', { tokenizersPoolConfig: { modelName: 'm', workersCount: 4 } }],
    ['its index in Valkey', { kvBlockIndexConfig: { valkeyConfig: { address: 'valkey:6379' } } }],
  ])(
    '[D518] may have %s in the precise scorer, and not in the producer',
    (_what, indexerConfig) => {
      const { notes } = load(plugins(['precise-prefix-cache-scorer', { indexerConfig }]));
      const [note] = notes.filter(({ path }) => path?.startsWith('plugins[0].parameters.indexer'));
      expect(note?.reason).toBe('own-way');
      const producer = plugins(['precise-prefix-cache-producer', { indexerConfig }]);
      expect(() => load(producer)).toThrow(/PoolConfig|valkeyConfig/);
    },
  );

  test.each([
    [
      'the scorer of prefixes with its index',
      plugins(['prefix-cache-scorer', { hashBlockSize: 256, maxPrefixBlocksToMatch: 99 }]),
      plugins(
        ['prefix-cache-scorer', {}],
        [
          'approx-prefix-cache-producer',
          {
            autoTune: false,
            blockSizeTokens: 64,
            maxPrefixBlocksToMatch: 99,
            maxPrefixTokensToMatch: 0,
          },
        ],
      ),
    ],
    [
      'the block of an index in characters',
      plugins(['approx-prefix-cache-producer', { hashBlockSize: 512 }]),
      plugins(['approx-prefix-cache-producer', { autoTune: false, blockSizeTokens: 128 }]),
    ],
    [
      'the header of sessions',
      plugins(['session-affinity-filter', { headerName: 'x-a' }]),
      plugins(['session-affinity-filter', { encodedEndpointHeaderConfig: { header: 'x-a' } }]),
    ],
    [
      'the size of a cache of images',
      plugins(['mm-embeddings-cache-producer', { cacheSizeInMB: 2048 }]),
      plugins(['mm-embeddings-cache-producer', { cacheSizeInMBPerServer: 2048 }]),
    ],
    [
      'the size of that cache in items',
      plugins(['mm-embeddings-cache-producer', { cacheSize: 10_000 }]),
      plugins(['mm-embeddings-cache-producer', {}]),
    ],
    [
      'the renderer of prompts',
      plugins(['token-producer', { vllm: { http: 'http://render:8000' } }]),
      plugins(['token-producer', { vllm: { url: 'http://render:8000' } }]),
    ],
    [
      'bounds of sessions in their producer',
      plugins(['session-id-producer', { cookieName: 'sid', lruSize: 512, ttl: '10m' }]),
      plugins(['session-id-producer', { cookieName: 'sid' }]),
    ],
    [
      'the decay of a program’s service',
      plugins(['program-aware-fairness', { serviceDecayFactor: 0.9 }]),
      plugins(['program-aware-fairness', { lasDecayFactor: 0.9 }]),
    ],
    [
      'series of metrics beside no engine',
      plugins([
        'core-metrics-extractor',
        { defaultEngine: 'own', kvUsageSpec: 'kv', enableMultiEngine: true },
      ]),
      plugins([
        'core-metrics-extractor',
        { defaultEngine: 'own', engineConfigs: [{ name: 'own', kvUsageSpec: 'kv' }] },
      ]),
    ],
    [
      'what a precise index had within',
      plugins(['precise-prefix-cache-scorer', { indexerConfig: { speculativeIndexing: true } }]),
      plugins(['precise-prefix-cache-scorer', { speculativeIndexing: true, indexerConfig: {} }]),
    ],
    [
      'a bound of prompts that a precise index never had',
      plugins([
        'precise-prefix-cache-scorer',
        { indexerConfig: { kvBlockIndexConfig: { maxPrefixBlocksToMatch: 256 } } },
      ]),
      plugins(['precise-prefix-cache-scorer', { indexerConfig: { kvBlockIndexConfig: {} } }]),
    ],
    [
      'the sections of data and their discovery',
      { data: { injectDefaults: false } },
      { dataLayer: { injectDefaults: false } },
    ],
    [
      'the detector’s bounds in its section',
      { saturationDetector: { queueDepthThreshold: 9, metricsStalenessThreshold: '1s' } },
      {
        saturationDetector: { pluginRef: 'utilization-detector' },
        ...plugins([
          'utilization-detector',
          { queueDepthThreshold: 9, metricsStalenessThreshold: '1s' },
        ]),
      },
    ],
    [
      'a handler that always disaggregates',
      stages(['pd-profile-handler', { threshold: 0 }]),
      stages(
        ['pd-profile-handler', { deciderPluginName: 'always-disagg-pd-decider' }],
        ['always-disagg-pd-decider', {}],
      ),
    ],
    [
      'a handler with a threshold in characters',
      stages(['pd-profile-handler', { threshold: 10 }]),
      stages(['pd-profile-handler', {}], ['prefix-based-pd-decider', { nonCachedTokens: 3 }]),
    ],
    [
      'gates that are always on',
      { featureGates: ['dataLayer', 'prepareDataPlugins', 'enableLegacyMetrics=false'] },
      {},
    ],
  ])('[D425] is read as the newest reads it: %s', (_what, older, newer) => {
    expect(decided(load(older))).toEqual(decided(load(newer)));
    const reasons = new Set<string>(load(older).notes.map(({ reason }) => reason));
    expect(['deprecated', 'own-way', 'obsolete'].some((reason) => reasons.has(reason))).toBe(true);
  });

  test('[D425] keeps the names by which profiles know plugins of older types', () => {
    const schedulingProfiles = [
      { name: 'a', plugins: [{ pluginRef: 'kv-cache', weight: 2 }, { pluginRef: 'max-score' }] },
    ];
    const plan = load({ ...plugins(['kv-cache', {}], ['max-score', {}]), schedulingProfiles });
    expect(plan.profiles[0]?.plugins.map(({ plugin }) => plugin.definition.type)).toEqual([
      'kv-cache-utilization-scorer',
      'max-score-picker',
    ]);
    expect(plan.notes.map(({ path, reason }) => `${path}: ${reason}`)).toContain(
      'plugins[0].type: deprecated',
    );
  });

  test.each([
    [{ ...HEAD, apiVersion: 'llm-d.ai/v1', plugins: [{ type: 'queue' }] }],
    [{ ...HEAD, plugins: [{ type: 'queue-scorer' }], saturationDetector: { pluginRef: 'x' } }],
    [{ ...HEAD, plugins: [5, { type: 'prefix-cache-scorer', parameters: [1] }], data: 3 }],
    [{ ...HEAD, plugins: 'none', saturationDetector: { queueDepthThreshold: 1 } }],
    ['text'],
    [null],
  ])('[D425] leaves %j as it is', (value) => {
    expect(fromOlderReleases(value)).toEqual({ value, notes: [] });
  });
});
