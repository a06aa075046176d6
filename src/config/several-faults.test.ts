import { expect, test } from 'vitest';
import { SERVING_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { ConfigError } from '../framework/error.ts';
import { loadConfig } from './load.ts';

/** The paths of all errors of a configuration with these sections. */
function faultyPaths(sections: object): readonly string[] {
  const head = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
  const text = JSON.stringify({ ...head, ...sections });
  try {
    loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.issues.map(({ path }) => path);
    throw error;
  }
}

const QUEUE = { type: 'queue-scorer' };
const UNKNOWN = { type: 'queue-scorerr' };
const profile = (...plugins: readonly unknown[]): object => ({ name: 'default', plugins });

test.each([
  [
    'parameters that are no map',
    { plugins: [{ type: 'load-aware-scorer', parameters: 'x' }, UNKNOWN] },
    ['plugins[0].parameters', 'plugins[1].type'],
  ],
  [
    'a plugin without a type, which may be any profile handler',
    {
      plugins: [QUEUE, { name: 'mine' }, UNKNOWN],
      schedulingProfiles: [profile({ pluginRef: 'mine' }), { ...profile(), name: 'other' }],
    },
    ['plugins[1].type', 'plugins[2].type'],
  ],
  [
    'a plugin whose name cannot be read, which may be the one that a profile means',
    {
      plugins: [{ ...QUEUE, name: ['mine'] }, UNKNOWN],
      schedulingProfiles: [profile({ pluginRef: 'mine' })],
    },
    ['plugins[0].name', 'plugins[1].type'],
  ],
  [
    'a plugin that is a text, and one that is nothing',
    { plugins: ['queue-scorer', null, UNKNOWN] },
    ['plugins[0]', 'plugins[1].type', 'plugins[2].type'],
  ],
  [
    'a weight that is a text, and a reference without a name',
    {
      plugins: [QUEUE],
      schedulingProfiles: [
        profile({ pluginRef: 'queue-scorer', weight: 'two' }, { weight: 2 }, { pluginRef: 'kv' }),
      ],
    },
    [
      'schedulingProfiles[0].plugins[0].weight',
      'schedulingProfiles[0].plugins[1].pluginRef',
      'schedulingProfiles[0].plugins[2].pluginRef',
    ],
  ],
  [
    'profiles without a name, without a list, and that are none',
    {
      plugins: [QUEUE, UNKNOWN, { type: 'disagg-profile-handler' }],
      schedulingProfiles: [{ plugins: [{ pluginRef: 'kv' }] }, { name: 'b', plugins: 'x' }, 7],
    },
    [
      'schedulingProfiles[0].name',
      'schedulingProfiles[1].plugins',
      'schedulingProfiles[2]',
      'plugins[1].type',
      'schedulingProfiles[0].plugins[0].pluginRef',
    ],
  ],
  [
    'plugins that are no list',
    { plugins: { ...QUEUE }, schedulingProfiles: [profile()] },
    ['plugins'],
  ],
])('[D411] errors of meaning stand beside %s', (_, sections, wanted) => {
  expect(faultyPaths(sections)).toEqual(wanted);
});

const FLOW = {
  saturationDetector: { pluginRef: 'queue-scorer' },
  priorityBands: [{ priority: 1, fairnessPolicyRef: 'gone' }, { priority: 1 }],
};

test.each([
  [
    'a time of flow control',
    { flowControl: { ...FLOW, defaultRequestTTL: '-1s' } },
    [
      'flowControl.defaultRequestTTL',
      'flowControl.saturationDetector.pluginRef',
      'flowControl.priorityBands[0].fairnessPolicyRef',
      'flowControl.priorityBands[1].priority',
    ],
  ],
  [
    'bands without a priority that can be read, which are bands of their own',
    {
      flowControl: {
        priorityBands: [{ priority: 'x' }, {}, 'high', { orderingPolicyRef: 'gone' }],
      },
    },
    [
      'flowControl.priorityBands[0].priority',
      'flowControl.priorityBands[2]',
      'flowControl.priorityBands[3].priority',
      'flowControl.priorityBands[3].orderingPolicyRef',
    ],
  ],
  [
    'references that are no text',
    {
      flowControl: { saturationDetector: { pluginRef: 5 }, usageLimitPolicyPluginRef: 'gone' },
      dataLayer: { injectDefaults: 'no', sources: [{ pluginRef: 7 }, { pluginRef: 'gone' }] },
      requestHandler: { parsers: [{}, { pluginRef: 'gone' }] },
    },
    [
      'dataLayer.injectDefaults',
      'dataLayer.sources[0].pluginRef',
      'flowControl.saturationDetector.pluginRef',
      'requestHandler.parsers[0].pluginRef',
      'dataLayer.sources[1].pluginRef',
      'requestHandler.parsers[1].pluginRef',
      'flowControl.usageLimitPolicyPluginRef',
    ],
  ],
])('[D622] errors of meaning stand beside %s in the same section', (_, sections, wanted) => {
  const all = { plugins: [QUEUE], featureGates: ['flowControl'], ...sections };
  expect(faultyPaths(all).toSorted()).toEqual([...wanted].sort());
});

test('[D411] a profile handler says what it misses beside other errors, and not of deciders with errors', () => {
  const decider = { type: 'prefix-based-pd-decider', parameters: { nonCachedTokens: 'x' } };
  const deciders = { prefill: 'prefix-based-pd-decider' };
  const handler = { type: 'disagg-profile-handler', parameters: { deciders } };
  const schedulingProfiles = [profile({ pluginRef: 'queue-scorer' })];
  const wanted = ['plugins[1].parameters.nonCachedTokens', 'plugins[3].type', 'schedulingProfiles'];
  const plugins = [QUEUE, decider, handler, UNKNOWN];
  expect(faultyPaths({ plugins, schedulingProfiles })).toEqual(wanted);
});

test('[D519] an unknown type that is called a profile handler is one', () => {
  const handler = { type: 'slo-aware-profile-handler' };
  const schedulingProfiles = [
    profile({ pluginRef: 'queue-scorer' }),
    { ...profile({ pluginRef: 'queue-scorer' }), name: 'slo' },
  ];
  expect(faultyPaths({ plugins: [QUEUE, handler], schedulingProfiles })).toEqual([
    'plugins[1].type',
  ]);
  expect(faultyPaths({ plugins: [QUEUE, UNKNOWN], schedulingProfiles })).toEqual([
    'plugins[1].type',
    'schedulingProfiles',
  ]);
});

test('[D411] a name that stands for what cannot be read is one as any other', () => {
  const plugins = [QUEUE];
  const schedulingProfiles = [profile({ pluginRef: '(unreadable)' })];
  const path = 'schedulingProfiles[0].plugins[0].pluginRef';
  expect(faultyPaths({ plugins, schedulingProfiles })).toEqual([path]);
});
