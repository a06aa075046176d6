import { describe, expect, test } from 'vitest';
import { SERVING_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../load.ts';
import { switchedOff } from './switched-off.ts';

function notesOf(fields: object): readonly string[] {
  const config = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig', ...fields };
  const text = JSON.stringify(config);
  const { notes } = loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE });
  return notes.filter(({ reason }) => reason === 'switched-off').map(({ path }) => path);
}

const sessions = { sources: [{ header: 'x-a' }] };
const https = { caCertPath: '/etc/ca.crt' };
const factor = { dynamic: { factor: 512 } };
const port = { podDiscoveryConfig: { socketPort: 6000 } };

/** By type: parameters, the one that has no effect, and what gives it one. */
const CASES: readonly (readonly [type: string, given: object, idle: string, more: object])[] = [
  [
    'session-affinity-scorer',
    { sessionIdConfig: sessions },
    'sessionIdConfig',
    { strategy: 'session_id' },
  ],
  [
    'session-affinity-filter',
    { encodedEndpointHeaderConfig: { header: 'x-t' }, strategy: 'session_id' },
    'encodedEndpointHeaderConfig.header',
    { strategy: '' },
  ],
  [
    'prefix-cache-scorer',
    { matchLengthScaleTokens: 64 },
    'matchLengthScaleTokens',
    { matchLengthWeight: 0.5 },
  ],
  [
    'concurrency-detector',
    { maxTokenConcurrency: 9 },
    'maxTokenConcurrency',
    { concurrencyMode: 'hybrid' },
  ],
  [
    'concurrency-detector',
    { maxConcurrency: 9, concurrencyMode: 'tokens' },
    'maxConcurrency',
    { concurrencyMode: 'requests' },
  ],
  [
    'prefix-cache-affinity-filter',
    { peakPrefillThroughput: 9, ttftSource: 'latencyPredictor' },
    'peakPrefillThroughput',
    { ttftSource: 'prefillThroughput' },
  ],
  ['prefix-based-pd-decider', { promptTokens: 9 }, 'promptTokens', { nonCachedTokens: 16 }],
  ['program-aware-fairness', { lasDecayFactor: 0.5 }, 'lasDecayFactor', { lasHalfLifeSeconds: 0 }],
  [
    'program-aware-fairness',
    { turnPriorityTimeWeight: 1 },
    'turnPriorityTimeWeight',
    { strategy: 'turn-priority' },
  ],
  ['inflight-load-producer', { outputRatio: 2 }, 'outputRatio', { addEstimatedOutputTokens: true }],
  ['metrics-data-source', https, 'caCertPath', { scheme: 'https' }],
  ['dcgm-data-source', https, 'caCertPath', { scheme: 'https' }],
  [
    'token-producer',
    { estimate: { image: { mode: 'static', ...factor } } },
    'estimate.image.dynamic',
    { estimate: { image: { ...factor } } },
  ],
  [
    'precise-prefix-cache-producer',
    { speculativeTTL: '5s' },
    'speculativeTTL',
    { speculativeIndexing: true },
  ],
  [
    'precise-prefix-cache-producer',
    { kvEventsConfig: { discoverPods: false, zmqEndpoint: 'tcp://0.0.0.0:5557', ...port } },
    'kvEventsConfig.podDiscoveryConfig.socketPort',
    { kvEventsConfig: port },
  ],
];

describe('a parameter that another one switches off', () => {
  test.each(CASES)('[D607] of %s, such as %j, is noted', (type, parameters, idle, more) => {
    const notes = notesOf({ plugins: [{ type, parameters }] });
    expect(notes.map((path) => path.replace('plugins[0].parameters.', ''))).toContain(idle);
    const both = { ...parameters, ...more };
    expect(notesOf({ plugins: [{ type, parameters: both }] })).not.toContain(
      `plugins[0].parameters.${idle}`,
    );
  });

  test('[D607] is none of a type with a name that every object has', () => {
    expect(switchedOff('constructor', { a: 1 }, 'plugins[0].parameters')).toEqual([]);
  });

  test('[D607] is not noted where its value is the usual one', () => {
    const parameters = { matchLengthScaleTokens: 8192 };
    expect(notesOf({ plugins: [{ type: 'prefix-cache-scorer', parameters }] })).toEqual([]);
    const insecure = (is: boolean): readonly string[] =>
      notesOf({
        plugins: [{ type: 'metrics-data-source', parameters: { insecureSkipVerify: is } }],
      });
    expect(insecure(true)).toEqual([]);
    expect(insecure(false)).toEqual(['plugins[0].parameters.insecureSkipVerify']);
  });
});

const DECIDER = 'always-disagg-pd-decider';
const profile = (name: string): object => ({ name, plugins: [{ pluginRef: 'queue-scorer' }] });

function disaggregated(parameters: object, profiles: readonly string[]): readonly string[] {
  const handler = { type: 'disagg-profile-handler', parameters };
  const plugins = [handler, { type: DECIDER }, { type: 'queue-scorer' }];
  return notesOf({ plugins, schedulingProfiles: profiles.map(profile) });
}

describe('a part of a configuration that another one switches off', () => {
  test('[D608] what sections say that are not enabled is noted', () => {
    expect(notesOf({ hold: { enabled: false, maxRequests: 5 } })).toEqual(['hold.maxRequests']);
    expect(notesOf({ ejection: { enabled: false, trials: 9 } })).toEqual(['ejection.trials']);
    expect(notesOf({ hold: { maxRequests: 5 }, ejection: { trials: 9 } })).toEqual([]);
  });

  test.each([
    [{ deciders: { prefill: DECIDER } }, ['decode'], ['plugins[0].parameters.deciders.prefill']],
    [{ deciderPluginName: DECIDER }, ['decode'], ['plugins[0].parameters.deciderPluginName']],
    [{}, ['decode', 'prefill'], ['schedulingProfiles[1]']],
    [{ profiles: { prefill: 'p' } }, ['p', 'decode'], ['schedulingProfiles[0]']],
    [{ stageOrder: 'prefill-first' }, ['decode', 'prefill'], []],
    [{ deciders: { prefill: DECIDER } }, ['decode', 'prefill'], []],
  ])('[D608] of a handler with %j and profiles %j, %j never run', (parameters, profiles, idle) => {
    expect(disaggregated(parameters, profiles)).toEqual(idle);
  });

  test.each(['utilization-detector', 'concurrency-detector'])(
    '[D615] headroom of a %s that no profile lists is noted',
    (type) => {
      const plugins = [{ type, parameters: { headroom: 0.5 } }, { type: 'queue-scorer' }];
      const flow = { flowControl: { saturationDetector: { pluginRef: type } } };
      const filtered = { name: 'p', plugins: [{ pluginRef: type }] };
      const idle = ['plugins[0].parameters.headroom'];
      expect(notesOf({ plugins, ...flow, schedulingProfiles: [profile('p')] })).toEqual(idle);
      expect(notesOf({ plugins, ...flow, schedulingProfiles: [filtered] })).toEqual([]);
      expect(notesOf({ plugins, ...flow })).toEqual([]);
    },
  );

  test('[D616] what a handler chooses one profile by is noted', () => {
    const parameters = { headerName: 'x-p', defaultProfile: 'a' };
    const plugins = [{ type: 'header-profile-handler', parameters }, { type: 'queue-scorer' }];
    const notes = ['headerName', 'defaultProfile'].map((it) => `plugins[0].parameters.${it}`);
    expect(notesOf({ plugins, schedulingProfiles: [profile('a')] })).toEqual(notes);
    expect(notesOf({ plugins, schedulingProfiles: [profile('a'), profile('b')] })).toEqual([]);
  });
});
