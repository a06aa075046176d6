import { expect, it } from 'vitest';
import { z } from 'zod';
import { makeRuntime } from '../../../test/makers.ts';
import { catalogueOf } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../config/load.ts';
import { defineScorer } from '../../framework/plugin.ts';
import type { Scorer } from '../../framework/scheduling.ts';
import { PluginFaults } from '../faults/plugin-faults.ts';
import { createPlugins } from './create-plugins.ts';

const TEXT = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
dataLayer: {injectDefaults: false}
plugins:
- {type: tide-scorer, name: tide}
`;

function create(make: () => unknown): Scorer | undefined {
  const tide = defineScorer({
    type: 'tide-scorer',
    config: z.strictObject({}),
    create: () => make() as Scorer,
  });
  const plan = loadConfig({ text: TEXT, source: 'test', catalogue: catalogueOf([tide], []) });
  const options = { runtime: makeRuntime(), kept: new Map(), faults: new PluginFaults() };
  return createPlugins(plan, options).made.get('tide') as Scorer | undefined;
}

it('[V252] names the plugin whose code cannot make it, and says what is wrong with it', () => {
  const told = 'tide (scorer of type tide-scorer): its create() has';
  const fails = (make: () => unknown, why: string): void =>
    expect(() => create(make)).toThrow(`${told} ${why}`);
  fails(() => {
    throw new TypeError('no file');
  }, 'thrown: TypeError: no file');
  fails(() => Promise.resolve({ score: () => [] }), 'returned a promise');
  for (const what of [undefined, null, 7, {}, { score: 1 }, { filter: () => [] }]) {
    fails(() => what, 'returned no object with a method score()');
  }
});

it('makes a plugin whose method comes from its class', () => {
  class Tide {
    score(): readonly number[] {
      return [];
    }
  }
  expect(create(() => new Tide())).toBeInstanceOf(Tide);
});
