import { describe, expect, it } from 'vitest';
import { issuesOf } from '../../test/support/load-text.ts';

/** Mistakes that people make who write a configuration by an example. */

const profile = (plugins: string): string =>
  `schedulingProfiles: [{ name: default, plugins: [${plugins}] }]`;

describe('[D631] a plugin that is named wrongly', () => {
  it.each([
    [
      'by its type, where it has a name',
      `plugins: [{ type: queue-scorer, name: q }]\n${profile('{ pluginRef: queue-scorer }')}`,
      'schedulingProfiles[0].plugins[0].pluginRef: queue-scorer is not the name of a plugin in plugins: the queue-scorer there is named q',
    ],
    [
      'by a type that is not listed',
      `plugins: []\n${profile('{ pluginRef: queue-scorer }')}`,
      'schedulingProfiles[0].plugins[0].pluginRef: queue-scorer is not the name of a plugin in plugins: add it there with type: queue-scorer',
    ],
    [
      'in a band of flow control',
      'featureGates: [flowControl]\nflowControl: { priorityBands: [{ priority: 1, fairnessPolicyRef: round-robin-fairness-policy }] }',
      'flowControl.priorityBands[0].fairnessPolicyRef: round-robin-fairness-policy is not the name of a plugin in plugins: add it there with type: round-robin-fairness-policy',
    ],
  ])('%s: the error says what to write', (_how, text, issue) => {
    expect(issuesOf(text)).toEqual([issue]);
  });
});

describe('[D632] an entry that is only a name', () => {
  const MUST = 'must be a map with fields, not a string: write';
  it.each([
    ['plugins: [queue-scorer]', `plugins[0]: ${MUST} type: queue-scorer`],
    [
      `plugins: [{ type: queue-scorer }]\n${profile('queue-scorer')}`,
      `schedulingProfiles[0].plugins[0]: ${MUST} pluginRef: queue-scorer`,
    ],
    [
      'plugins: [{ type: metrics-data-source }, { type: core-metrics-extractor }]\ndataLayer: { sources: [{ pluginRef: metrics-data-source, extractors: [core-metrics-extractor] }] }',
      `dataLayer.sources[0].extractors[0]: ${MUST} pluginRef: core-metrics-extractor`,
    ],
    [
      'dataLayer: { sources: [metrics-data-source] }',
      `dataLayer.sources[0]: ${MUST} pluginRef: metrics-data-source`,
    ],
    [
      'saturationDetector: concurrency-detector',
      'saturationDetector: must be a map with fields, not a string',
    ],
  ])('has an error that says which field it is: %s', (text, issue) => {
    expect(issuesOf(text)).toEqual([issue]);
  });
});

describe('[D632] a field at another place', () => {
  it.each([
    [
      'plugins: [{ type: prefix-cache-scorer, matchLengthWeight: 0.5 }]',
      'plugins[0].matchLengthWeight: is not a known field; what a plugin takes stands in its parameters',
    ],
    [
      'plugins: [{ type: precise-prefix-cache-producer, parameters: { podDiscoveryConfig: { socketPort: 5556 } } }]',
      'plugins[0].parameters.podDiscoveryConfig: is not a known field (did you mean kvEventsConfig.podDiscoveryConfig?)',
    ],
    [
      'spec: { plugins: [] }',
      'spec: is not a known field; what stands in it stands at the top here',
    ],
    ['metadata: { name: a }', 'metadata: is not a known field; leave it out'],
    [
      'priorityBands: []',
      'priorityBands: is not a known field (did you mean flowControl.priorityBands?)',
    ],
  ])('has an error that says where it stands: %s', (text, issue) => {
    expect(issuesOf(text)).toEqual([issue]);
  });
});
