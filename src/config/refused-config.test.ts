import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { scorers } from '../../scorers/index.ts';
import { HEAD, issuesOf } from '../../test/support/load-text.ts';
import { catalogueOf } from '../catalogue/built-in-catalogue.ts';
import { dataSources } from '../catalogue/data-sources.ts';
import { defineScheduler, defineScorer } from '../framework/plugin.ts';
import { cycleKey } from '../framework/scheduling.ts';
import { loadConfig } from './load.ts';

describe('[O272] [D426] a file of another purpose', () => {
  it.each([
    ['servers: [{ count: 2, preset: llama-3.1-8b-h100 }]\n', /^file: is a pool .* --pool to /],
    ['endpoints: [{ name: a, address: 10.0.0.1, port: 8000 }]\n', / --endpoints-file to /],
    [
      'kind: ConfigMap\nmetadata: {name: a}\ndata: {x.yaml: text}\n',
      /^file: .* ConfigMap .* in data$/,
    ],
    ['kind: LLMInferenceServiceConfig\nmetadata: {name: a}\nspec: {}\n', /^file: .* within it$/],
    ['router: {epp: {pluginsCustomConfig: {}}}\n', /^file: .* pluginsCustomConfig$/],
  ])('is named with the option that takes it: %s', (text, message) => {
    const issues = issuesOf(text, '');
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatch(message);
  });
});

describe('a configuration that cannot be run', () => {
  it('lists every fault at once, each with its path and what was probably meant', () => {
    expect(
      issuesOf(`
plugins:
- type: queue-scorrer
- type: prefix-cache-scorer
  parameters: {matchLengthWeigth: 0.5, matchLengthWeight: 2}
- type: load-aware-scorer
- type: load-aware-scorer
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: queue-scorrer
  - pluginRef: load-aware-score
  - pluginRef: core
featureGates: [flowControll]
`),
    ).toEqual([
      'plugins[0].type: queue-scorrer is not a known plugin type (did you mean queue-scorer?)',
      'plugins[1].parameters.matchLengthWeight: must be at most 1',
      'plugins[1].parameters.matchLengthWeigth: is not a known field (did you mean matchLengthWeight?)',
      'plugins[3].name: two plugins are named load-aware-scorer; give one of them another name',
      'schedulingProfiles[0].plugins[1].pluginRef: load-aware-score is not the name of a plugin in plugins (did you mean load-aware-scorer?)',
      'schedulingProfiles[0].plugins[2].pluginRef: core is not the name of a plugin in plugins',
      'featureGates[0]: flowControll is not a known feature gate (did you mean flowControl?)',
    ]);
  });

  it('[G303] says of a type that resembles none how one of your own is loaded', () => {
    expect(issuesOf('plugins: [{ type: upper-confidence-bound }]')).toEqual([
      'plugins[0].type: upper-confidence-bound is not a known plugin type: if it is one of yours, load its module with --plugin',
    ]);
  });

  it('lists every fault of shape at once', () => {
    expect(
      issuesOf(`
plugin: []
plugins:
- name: nameless
schedulingProfiles:
- name: default
  plugins:
  - {pluginref: queue-scorer, weight: heavy}
dataLayer: {sorces: []}
`),
    ).toEqual([
      'plugins[0].type: is missing (expected a string)',
      'schedulingProfiles[0].plugins[0].pluginRef: is missing (expected a string)',
      'schedulingProfiles[0].plugins[0].weight: must be a number, not a string',
      'schedulingProfiles[0].plugins[0].pluginref: is not a known field (did you mean pluginRef?)',
      'dataLayer.sorces: is not a known field (did you mean sources?)',
      'plugin: is not a known field (did you mean plugins?)',
    ]);
  });

  it('says in which line the YAML breaks', () => {
    expect(issuesOf('plugins: [\n- type: x\n').join('\n')).toMatch(/^line \d+, column \d+: /);
  });

  it('[O173] says what a field must be that has another of few values', () => {
    expect(issuesOf('', 'apiVersion: v1\nkind: Config\n')).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^apiVersion: must be one of "llm-d.ai\/v1alpha1", /),
        'kind: must be "EndpointPickerConfig"',
      ]),
    );
  });

  it.each(['', 'just a sentence', '[1, 2]', 'apiVersion: v2\nkind: EndpointPickerConfig'])(
    'refuses %j',
    (text) => {
      expect(issuesOf('', text)).not.toEqual([]);
    },
  );

  it('refuses a text that unfolds without end', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (const [of, name] of ['ab', 'bc', 'cd', 'de']) {
      bomb.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${of}`).join(', ')}]`);
    }
    expect(issuesOf('', bomb.join('\n')).join()).toContain('alias');
  });

  it.each([
    [
      'two handlers',
      'plugins:\n- type: single-profile-handler\n- {type: single-profile-handler, name: other}\n',
      'plugins: has 2 profile handlers (single-profile-handler, other); leave one of them',
    ],
    [
      'two profiles for the single-profile handler',
      'plugins:\n- type: single-profile-handler\nschedulingProfiles:\n- name: a\n- name: b\n',
      'schedulingProfiles: single-profile-handler runs one profile, but there are 2; name another profile handler in plugins',
    ],
    [
      'two pickers in a profile',
      'plugins:\n- type: random-picker\n- type: max-score-picker\n',
      'schedulingProfiles[0]: default has 2 pickers (random-picker, max-score-picker); leave one of them',
    ],
    [
      'a scorer as a data source',
      'plugins:\n- type: queue-scorer\ndataLayer:\n  sources: [{pluginRef: queue-scorer}]\n',
      'dataLayer.sources[0].pluginRef: queue-scorer is a scorer, not a data source',
    ],
    [
      'an extractor that is not there',
      'plugins:\n- type: metrics-data-source\ndataLayer:\n  sources: [{pluginRef: metrics-data-source, extractors: [{pluginRef: core}]}]\n',
      'dataLayer.sources[0].extractors[0].pluginRef: core is not the name of a plugin in plugins',
    ],
    [
      'a discovery that is not there',
      'dataLayer: {discovery: {pluginRef: file-discovery}}\n',
      'dataLayer.discovery.pluginRef: file-discovery is not the name of a plugin in plugins',
    ],
    [
      'a producer that is not there',
      'plugins:\n- {type: prefix-cache-scorer, parameters: {prefixMatchInfoProducerName: aprox-prefix-cache-producer}}\n',
      'plugins[0]: prefix-cache-scorer needs prefix-match/aprox-prefix-cache-producer, which no plugin of this configuration provides (did you mean prefix-match/approx-prefix-cache-producer?)',
    ],
    [
      "another plugin by the default picker's name",
      'plugins:\n- {type: queue-scorer, name: max-score-picker}\n',
      'plugins[0].name: max-score-picker is the name of a built-in plugin; give this queue-scorer another name',
    ],
    [
      'a feature gate that is neither on nor off',
      'featureGates: [flowControl=maybe]\n',
      'featureGates[0]: flowControl=maybe is not a valid gate; write flowControl, flowControl=true or flowControl=false',
    ],
  ])('refuses %s', (_name, body, issue) => {
    expect(issuesOf(body)).toEqual([issue]);
  });

  it('refuses a scorer outside the tree whose fact nothing provides', () => {
    const needy = defineScorer({
      type: 'moon-phase-scorer',
      config: z.strictObject({}),
      needs: () => [cycleKey('moon-phase')],
      create: () => ({ score: (endpoints) => endpoints.map(() => 1) }),
    });
    const text = `${HEAD}plugins: [{type: moon-phase-scorer}]\n`;
    expect(() =>
      loadConfig({ text, source: 'x', catalogue: catalogueOf([needy], dataSources) }),
    ).toThrow('moon-phase-scorer needs moon-phase, which no plugin of this configuration provides');
  });

  it('[G281] refuses a scheduler of a module whose fact nothing provides', () => {
    const needy = defineScheduler({
      type: 'by-moon',
      config: z.object({}),
      needs: () => [cycleKey('moon-phase')],
      create: () => ({ schedule: () => ({ declined: 'no-moon' }) }),
    });
    const text = `${HEAD}scheduler: {type: by-moon}\n`;
    const catalogue = catalogueOf(scorers, dataSources, [needy]);
    expect(() => loadConfig({ text, source: 'x', catalogue })).toThrow(
      'scheduler.type: by-moon needs moon-phase, which no plugin of this configuration provides',
    );
  });
});
