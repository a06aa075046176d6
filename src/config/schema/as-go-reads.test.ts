import { describe, expect, test } from 'vitest';
import { issuesOf, load } from '../../../test/support/load-text.ts';

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
const plugin = (type: string, parameters: string): string =>
  `plugins:\n- {type: ${type}, parameters: ${parameters}}\n`;
const faults = (rest: string): readonly string[] => issuesOf(HEAD + rest, '');
const AT = 'plugins[0].parameters';

describe('numbers where Go has whole ones', () => {
  test.each([
    ['load-aware-scorer', 'threshold'],
    ['approx-prefix-cache-producer', 'lruCapacityPerServer'],
    ['no-hit-lru-scorer', 'lruSize'],
    ['token-load-scorer', 'queueThresholdTokens'],
    ['prefix-cache-scorer', 'matchLengthScaleTokens'],
    ['utilization-detector', 'queueDepthThreshold'],
  ])('[D559] %s refuses a fraction as %s', (type, name) => {
    expect(faults(plugin(type, `{${name}: 4.5}`))).toEqual([
      `${AT}.${name}: must be a whole number`,
    ]);
    expect(faults(plugin(type, `{${name}: 4}`))).toEqual([]);
  });

  test.each(['4.0', '1e3', '1.0e+1', '0x10', '0o17', '017', '1_000', '9223372036854775807'])(
    '[D559] %s is one',
    (number) => {
      expect(faults(plugin('load-aware-scorer', `{threshold: ${number}}`))).toEqual([]);
    },
  );

  test.each(['9223372036854775808', '1e19', '-1e19'])('[D559] %s has too many bits', (number) => {
    expect(faults(plugin('load-aware-scorer', `{threshold: ${number}}`))).toHaveLength(1);
  });

  test('[D559] those of priorities have 64 bits, too', () => {
    const band = (priority: string): string =>
      `flowControl:\n  priorityBands:\n  - {priority: ${priority}}\n`;
    expect(faults(band('-9223372036854775808'))).toEqual([]);
    expect(faults(band('9223372036854775808'))).toHaveLength(1);
  });
});

describe('null in a list', () => {
  test('[D561] is the zero of its type, as in Go', () => {
    expect(faults(plugin('by-label', '{label: a, validValues: [b, null]}'))).toEqual([]);
    expect(faults('flowControl:\n  priorityBands: [null]\n')).toEqual([]);
    expect(faults('plugins: [null]\n')).toEqual([
      'plugins[0].type: is missing (expected a string)',
    ]);
    expect(faults('featureGates: [null]\n').join()).toContain('featureGates[0]');
  });
});

describe('parameters that are no map', () => {
  test.each(['""', '5', '[1]', 'true'])(
    '[D561] %s has no effect where the reference does not look at them, and a note says so',
    (given) => {
      const { notes } = load(HEAD + plugin('queue-scorer', given), '');
      expect(notes.map(({ path, reason }) => `${path}: ${reason}`)).toContain(
        `${AT}: no-such-parameter`,
      );
    },
  );

  test.each(['""', '5', '[1]', 'true'])('[D561] %s is an error elsewhere', (given) => {
    expect(faults(plugin('load-aware-scorer', given)).join()).toContain('must be a map');
  });

  test.each(['null', '~', ''])('[D561] `%s` is none', (given) => {
    expect(faults(plugin('load-aware-scorer', given))).toEqual([]);
  });
});

test.each([
  [
    'precise-prefix-cache-producer',
    '{KvEventsConfig: {TopicFilter: "", PodDiscoveryConfig: {socketport: 5556}}}',
  ],
  ['disagg-profile-handler', '{Profiles: {Decode: decode}, deciders: {Prefill: d}}'],
])(
  '[D422] names within fields that have a default are read in any case: %s',
  (type, parameters) => {
    const rest = `plugins:\n- {type: ${type}, parameters: ${parameters}}\n- {type: always-disagg-pd-decider, name: d}\n`;
    const profiles =
      'schedulingProfiles: [{name: decode, plugins: []}, {name: prefill, plugins: []}]\n';
    expect(faults(type === 'disagg-profile-handler' ? rest + profiles : rest)).toEqual([]);
  },
);
