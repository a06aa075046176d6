import { describe, expect, test } from 'vitest';
import { load } from '../../../test/support/load-text.ts';

type Given = Readonly<Record<string, unknown>>;

describe.each([
  ['dcgm-data-source', 'dcgm-extractor'],
  ['models-data-source', 'models-data-extractor'],
])('[D560] several sources of type %s', (type, extractor) => {
  const source = (name: string, parameters: Given = {}): Given => ({ type, name, parameters });
  const entry = (pluginRef: string, ...extractors: readonly string[]): Given => ({
    pluginRef,
    extractors: extractors.map((each) => ({ pluginRef: each })),
  });
  /** The sources that run, each with its order. */
  const ordersOf = (config: object): object => {
    const { plugins } = load(JSON.stringify(config), '');
    const sources = plugins.filter(({ definition }) => definition.type === type);
    return Object.fromEntries(
      sources.map(({ name, config: given }) => [name, (given as Given)['order']]),
    );
  };
  const notesOf = (config: object): readonly string[] =>
    load(JSON.stringify(config), '')
      .notes.filter(({ reason }) => reason === 'unused')
      .map(({ text }) => text);

  test('run in the order of plugins', () => {
    const plugins = [source('b'), { type: extractor }, source('a')];
    const sources = [entry('a', extractor), entry('b', extractor)];
    expect(ordersOf({ plugins, dataLayer: { sources } })).toEqual({ b: undefined, a: 1 });
    expect(ordersOf({ plugins })).toEqual({ b: undefined, a: 1 });
    expect(notesOf({ plugins, dataLayer: { sources } })).toEqual([]);
  });

  test('have the order that they are given', () => {
    const plugins = [source('a', { order: 5 }), source('b'), source('c', { order: 0 })];
    expect(ordersOf({ plugins })).toEqual({ a: 5, b: 1, c: 0 });
  });

  test('that the section leaves out do not run, with a note', () => {
    const plugins = [source('a'), source('b'), source('c'), { type: extractor }];
    const config = { plugins, dataLayer: { sources: [entry('a'), entry('b', extractor)] } };
    expect(ordersOf(config)).toEqual({ b: undefined });
    expect(notesOf(config)).toEqual(
      ['a', 'c'].map(
        (name, at) =>
          `plugins[${at * 2}]: ${name} has nothing to do; name it in dataLayer.sources, with an extractor, or leave it out`,
      ),
    );
  });

  test('read again from the effective configuration are the same', () => {
    const config = { plugins: [source('b'), source('a')] };
    const { effective } = load(JSON.stringify(config), '');
    expect(ordersOf(effective)).toEqual(ordersOf(config));
    expect(load(JSON.stringify(effective), '').effective).toEqual(effective);
  });
});
