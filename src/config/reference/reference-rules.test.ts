import { describe, expect, test } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { ConfigError } from '../../framework/error.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { loadConfig } from '../load.ts';

const kind = 'EndpointPickerConfig';

function load(config: object, apiVersion = 'llm-d.ai/v1alpha1'): PickerPlan {
  const text = JSON.stringify({ apiVersion, kind, ...config });
  return loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE });
}

function issuesOf(config: object, apiVersion?: string): readonly string[] {
  try {
    load(config, apiVersion);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

const notesOf = (config: object, apiVersion?: string): readonly string[] =>
  load(config, apiVersion).notes.map(({ path, reason }) => `${path}: ${reason}`);

const file = { type: 'file-discovery', name: 'pool', parameters: { path: 'endpoints.yaml' } };
const found = { path: 'endpoints.yaml', watchFile: false };

describe('versions', () => {
  test('[D1] llm-d.ai/v1 has its sections, and v1alpha1 has the older and the newer ones', () => {
    const endpoints = { discovery: { endpoints: { pluginRef: 'pool' } } };
    const older = { discovery: { pluginRef: 'pool' } };
    expect(load({ plugins: [file], dataLayer: endpoints }, 'llm-d.ai/v1').discovery).toEqual(found);
    expect(load({ plugins: [file], dataLayer: endpoints }).discovery).toEqual(found);
    expect(load({ plugins: [file], dataLayer: older }).discovery).toEqual(found);
    const legacy = 'inference.networking.x-k8s.io/v1alpha1';
    expect(load({ plugins: [file], dataLayer: older }, legacy).discovery).toEqual(found);
  });

  test('[D1] a field that a version does not have is an error', () => {
    const older = { plugins: [file], dataLayer: { discovery: { pluginRef: 'pool' } } };
    expect(issuesOf(older, 'llm-d.ai/v1')[0]).toContain('dataLayer.discovery.pluginRef');
    for (const [field, newer] of [
      ['saturationDetector', 'flowControl.saturationDetector'],
      ['parser', 'requestHandler.parsers'],
    ] as const) {
      const config = { plugins: [{ type: 'openai-parser' }], [field]: { pluginRef: 'x' } };
      const message = `is not in llm-d.ai/v1; write ${newer}`;
      expect(issuesOf(config, 'llm-d.ai/v1')).toEqual([`${field}: ${message}`]);
    }
    const replica = { dataLayer: { crossReplica: { syncInterval: '200ms' } } };
    expect(issuesOf(replica, 'llm-d.ai/v1')).toEqual([]);
    expect(issuesOf(replica)[0]).toContain('dataLayer.crossReplica: is not a known field');
    expect(issuesOf({}, 'llm-d.ai/v2')[0]).toContain('apiVersion');
  });

  test('[D1] the newer of two ways to name the discovery is in force, with a note', () => {
    const both = { discovery: { pluginRef: 'other', endpoints: { pluginRef: 'pool' } } };
    const config = { plugins: [file], dataLayer: both };
    expect(load(config).discovery).toEqual(found);
    expect(notesOf(config)).toEqual(['dataLayer.discovery.pluginRef: replaced']);
  });

  test('[D1] sections about other replicas are read, checked and noted', () => {
    const plugins = [file];
    const peers = { discovery: { peers: { pluginRef: 'pool' } } };
    expect(notesOf({ plugins, dataLayer: peers }, 'llm-d.ai/v1')).toEqual([
      'dataLayer.discovery.peers.pluginRef: replicas',
    ]);
    const times = { crossReplica: { syncInterval: '200ms', publishTimeout: '1s' } };
    expect(notesOf({ plugins, dataLayer: times }, 'llm-d.ai/v1')).toEqual(
      expect.arrayContaining([
        'dataLayer.crossReplica.syncInterval: replicas',
        'dataLayer.crossReplica.publishTimeout: replicas',
      ]),
    );
    const missing = { dataLayer: { crossReplica: { syncerPluginRef: 'syncer' } } };
    expect(issuesOf(missing, 'llm-d.ai/v1')).toEqual([
      'dataLayer.crossReplica.syncerPluginRef: syncer is not the name of a plugin in plugins',
    ]);
    const wrong = { dataLayer: { crossReplicaSyncInterval: 'often' } };
    expect(issuesOf(wrong)).toEqual([
      'dataLayer.crossReplicaSyncInterval: must be a duration such as 200ms or 2s',
    ]);
  });
});

describe('profiles', () => {
  const profile = (...refs: readonly string[]): object => ({
    schedulingProfiles: [{ name: 'a', plugins: refs.map((pluginRef) => ({ pluginRef })) }],
  });
  const ranAs = (config: object): readonly string[] | undefined =>
    load(config).profiles[0]?.plugins.map(({ plugin }) => plugin.name);

  test('[D2] a plugin that does not filter, score or pick is left out of a profile, with a note', () => {
    const plugins = [{ type: 'metrics-data-source' }, { type: 'predicted-latency-producer' }, file];
    const refs = ['metrics-data-source', 'predicted-latency-producer', 'pool'];
    const config = { plugins, ...profile(...refs) };
    expect(ranAs(config)).toEqual(['max-score-picker']);
    expect(notesOf(config).filter((note) => note.endsWith('not-scheduling'))).toEqual(
      refs.map((_, at) => `schedulingProfiles[0].plugins[${at}]: not-scheduling`),
    );
  });

  test('[D3] a profile without a picker gets the first one that is listed, else max-score-picker', () => {
    const plugins = [{ type: 'queue-scorer' }, { type: 'random-picker' }];
    expect(ranAs({ plugins, ...profile('queue-scorer') })).toEqual([
      'queue-scorer',
      'random-picker',
    ]);
    expect(ranAs({ plugins: [{ type: 'queue-scorer' }], ...profile('queue-scorer') })).toEqual([
      'queue-scorer',
      'max-score-picker',
    ]);
  });

  test('[D3] what the reference adds by itself may be named without being listed', () => {
    expect(ranAs(profile('utilization-detector', 'max-score-picker'))).toEqual([
      'utilization-detector',
      'max-score-picker',
    ]);
    const listed = { plugins: [{ type: 'random-picker' }], ...profile('max-score-picker') };
    expect(issuesOf(listed)[0]).toContain('max-score-picker is not the name of a plugin');
  });

  test('[D511] [D514] sharing by Redis, and sharing with nobody, is read with a note of how replicas share here', () => {
    const redis = { type: 'redis-syncer', parameters: { address: 'redis:6379', stateTTL: '2s' } };
    const dataLayer = { crossReplica: { syncerPluginRef: 'redis-syncer' } };
    const { notes } = load({ plugins: [redis], dataLayer }, 'llm-d.ai/v1');
    expect(notes.map(({ text }) => text).join()).toContain('--replicas-nats');
    const local = { ...redis, type: 'local-syncer', name: 'redis-syncer' };
    const alone = load({ plugins: [local], dataLayer }, 'llm-d.ai/v1').notes;
    expect(alone.map(({ text }) => text).join()).toContain('in its memory');
    const plain = { plugins: [{ type: 'redis-syncer', parameters: { password: 'x' } }] };
    expect(issuesOf(plain, 'llm-d.ai/v1')[0]).toContain('parameters.password');
  });

  test('[D3] several profiles need a profile handler', () => {
    const two = { schedulingProfiles: [{ name: 'a' }, { name: 'b' }] };
    expect(issuesOf(two)[0]).toContain('there are 2 profiles and no profile handler');
  });

  test('a weight may be negative', () => {
    const plugins = [{ type: 'queue-scorer' }];
    const refs = [{ pluginRef: 'queue-scorer', weight: -1 }];
    const config = { plugins, schedulingProfiles: [{ name: 'a', plugins: refs }] };
    expect(load(config).profiles[0]?.plugins[0]?.weight).toBe(-1);
  });
});

describe('references', () => {
  const plugins = [{ type: 'queue-scorer' }, { type: 'openai-parser', name: 'mine' }];
  const parsers = (pluginRef: string): object => ({ parsers: [{ pluginRef }] });

  test('[D4] parsers are names of listed parsers', () => {
    expect(issuesOf({ plugins, requestHandler: parsers('mine') })).toEqual([]);
    expect(issuesOf({ plugins, requestHandler: parsers('your') })[0]).toContain(
      'requestHandler.parsers[0].pluginRef: your is not the name of a plugin',
    );
    expect(issuesOf({ plugins, requestHandler: parsers('queue-scorer') })).toEqual([
      'requestHandler.parsers[0].pluginRef: queue-scorer is not a parser; its type is queue-scorer',
    ]);
  });

  test('[D600] the deprecated `parser` may name openai-parser, which need not be listed', () => {
    const parser = { pluginRef: 'openai-parser' };
    expect(issuesOf({ plugins: [], parser })).toEqual([]);
    expect(issuesOf({ plugins: [], requestHandler: { parsers: [parser] } })).toHaveLength(1);
    expect(issuesOf({ plugins: [], parser: { pluginRef: 'vllmgrpc-parser' } })).toHaveLength(1);
  });

  test('[D4] the older parser field is checked where the list is empty', () => {
    expect(issuesOf({ plugins, parser: { pluginRef: 'queue-scorer' } })).toEqual([
      'parser.pluginRef: queue-scorer is not a parser; its type is queue-scorer',
    ]);
    const both = { parser: { pluginRef: 'x' }, requestHandler: parsers('mine') };
    expect(issuesOf({ plugins, ...both })).toEqual([]);
  });

  test('[D4] feature gates are switched as Go reads truth', () => {
    for (const value of ['=1', '=T', '= true', '=0', '=False', '']) {
      expect(issuesOf({ featureGates: [`flowControl${value}`] })).toEqual([]);
    }
    expect(issuesOf({ featureGates: ['flowControl=yes'] })[0]).toContain('is not a valid gate');
  });
});

describe('parameters', () => {
  const parsed = (type: string, parameters: object): unknown =>
    load({ plugins: [{ type, parameters }] }).plugins.find(({ name }) => name === type)?.config;

  test('[D5] names are read in any case, and null is as if it were not there', () => {
    const wanted = parsed('load-aware-scorer', { threshold: 64 });
    expect(parsed('load-aware-scorer', { Threshold: 64 })).toEqual(wanted);
    expect(parsed('load-aware-scorer', { threshold: null })).toEqual(
      parsed('load-aware-scorer', {}),
    );
  });

  test('[D5] a type that reads no parameters takes all, with a note; others refuse unknown ones', () => {
    const single = { plugins: [{ type: 'single-profile-handler', parameters: { picker: 'x' } }] };
    expect(notesOf(single)).toEqual(['plugins[0].parameters.picker: no-such-parameter']);
    const scorer = { plugins: [{ type: 'load-aware-scorer', parameters: { picker: 'x' } }] };
    expect(issuesOf(scorer)).toEqual(['plugins[0].parameters.picker: is not a known field']);
  });
});

describe('documents', () => {
  const yaml = (text: string): PickerPlan =>
    loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE });
  const first = `---\napiVersion: llm-d.ai/v1alpha1\nkind: ${kind}\nplugins: [{ type: queue-scorer }]\n`;

  test('[D150] a file may end with an empty document, and has only one that is not', () => {
    expect(yaml(`${first}---\n# nothing\n`).profiles).toHaveLength(1);
    expect(() => yaml(`${first}---\nkind: ConfigMap\n`)).toThrow(
      'line 5, column 1: begins another document; keep one of them',
    );
  });
});

describe('notes', () => {
  test('[D6] a listed plugin that nothing names is noted', () => {
    const plugins = [
      { type: 'queue-scorer' },
      { type: 'load-aware-scorer' },
      { type: 'always-disagg-pd-decider' },
      { type: 'passthrough-parser' },
      file,
    ];
    const schedulingProfiles = [{ name: 'a', plugins: [{ pluginRef: 'queue-scorer' }] }];
    expect(notesOf({ plugins, schedulingProfiles })).toEqual([
      'plugins[1]: unused',
      'plugins[2]: unused',
      'plugins[3]: unused',
      'plugins[4]: unused',
    ]);
  });

  test('[D172] a type of a branch is an error that names what does similar work', () => {
    expect(issuesOf({ plugins: [{ type: 'modality-filter' }] })).toEqual([
      'plugins[0].type: modality-filter is in no release of the reference picker, and is not here; label-selector-filter in a profile of header-profile-handler does a similar work',
    ]);
  });

  test('[D150] parameters of later releases are read, and noted where they have no effect', () => {
    const vllm = {
      endpointDiscovery: { loadBalancer: { type: 'round-robin' } },
      prefillOnly: true,
    };
    const producer = { type: 'token-producer', parameters: { vllm } };
    expect(notesOf({ plugins: [producer, { type: 'outlen-bucket' }] })).toEqual([
      'plugins[0].parameters.vllm.endpointDiscovery.loadBalancer: own-way',
      'plugins[0].parameters.vllm.prefillOnly: own-way',
    ]);
    const both = { ...vllm, url: 'http://render:8000' };
    const plugins = [{ type: 'token-producer', parameters: { vllm: both } }];
    expect(issuesOf({ plugins })[0]).toContain('vllm.url: cannot be given beside');
  });

  test('[D313] of the index of KV events, the size has an effect and each other part a note', () => {
    const inMemoryConfig = { size: 100, podCacheSize: 32 };
    const kvBlockIndexConfig = { inMemoryConfig, enableMetrics: true };
    const parameters = { indexerConfig: { kvBlockIndexConfig } };
    const at = 'plugins[0].parameters.indexerConfig.kvBlockIndexConfig';
    const plugins = [
      { type: 'precise-prefix-cache-producer', parameters },
      { type: 'precise-prefix-cache-scorer' },
    ];
    expect(notesOf({ plugins })).toEqual([
      `${at}.enableMetrics: own-way`,
      `${at}.inMemoryConfig.podCacheSize: own-way`,
    ]);
  });

  test('[D6] a parameter that is read without an effect is noted with the reason', () => {
    const parameters = { lruSize: 8, prefixPluginName: 'x' };
    const { notes } = load({ plugins: [{ type: 'no-hit-lru-scorer', parameters }] });
    expect(notes.map(({ reason, text }) => `${reason}: ${text}`)).toEqual([
      'obsolete: plugins[0].parameters.prefixPluginName has no effect: the reference does not use it; leave it out',
    ]);
  });
});
