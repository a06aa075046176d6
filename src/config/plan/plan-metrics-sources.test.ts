import { describe, expect, test } from 'vitest';
import { load } from '../../../test/support/load-text.ts';

const SOURCE = 'metrics-data-source';
const EXTRACTOR = 'core-metrics-extractor';

interface Read {
  readonly extractors?: readonly { readonly defaultEngine: string }[];
}

/** The metrics sources that run, each with the default engines of extractors of its own. */
function readingsOf(config: object): Readonly<Record<string, readonly string[] | undefined>> {
  const sources = load(JSON.stringify(config), '').plugins.filter(
    ({ definition }) => definition.type === SOURCE,
  );
  return Object.fromEntries(
    sources.map(({ name, config: given }) => [
      name,
      (given as Read).extractors?.map(({ defaultEngine }) => defaultEngine),
    ]),
  );
}

const notesOf = (config: object): readonly string[] =>
  load(JSON.stringify(config), '')
    .notes.filter(({ reason }) => reason === 'unused')
    .map(({ text }) => text);

const source = (name: string, parameters: object = {}): object => ({
  type: SOURCE,
  name,
  parameters,
});
const extractor = (name: string, defaultEngine: string): object => ({
  type: EXTRACTOR,
  name,
  parameters: { defaultEngine },
});
const entry = (pluginRef: string, ...extractors: readonly string[]): object => ({
  pluginRef,
  extractors: extractors.map((each) => ({ pluginRef: each })),
});

describe('[D515] metrics sources', () => {
  test('that the section names each have their extractors, and the usual source has its own', () => {
    const plugins = [source('side', { port: 9400 }), extractor('sg', 'sglang')];
    const dataLayer = { sources: [entry('side', 'sg')] };
    expect(readingsOf({ plugins, dataLayer })).toEqual({
      side: ['sglang'],
      [SOURCE]: ['vllm'],
    });
    expect(notesOf({ plugins, dataLayer })).toEqual([]);
  });

  test('are two where the section names both, and nothing is added', () => {
    const plugins = [{ type: SOURCE }, { type: EXTRACTOR }, source('side', { path: '/more' })];
    const sources = [entry(SOURCE, EXTRACTOR), entry('side', EXTRACTOR)];
    expect(readingsOf({ plugins, dataLayer: { sources } })).toEqual({
      [SOURCE]: ['vllm'],
      side: ['vllm'],
    });
  });

  test('have several extractors where one place or two name them', () => {
    const plugins = [{ type: SOURCE }, { type: EXTRACTOR }, extractor('sg', 'sglang')];
    const twice = [entry(SOURCE, EXTRACTOR), entry(SOURCE, 'sg')];
    for (const sources of [[entry(SOURCE, EXTRACTOR, 'sg')], twice]) {
      expect(readingsOf({ plugins, dataLayer: { sources } })).toEqual({
        [SOURCE]: ['vllm', 'sglang'],
      });
    }
  });

  test('are one where a source with another name reads the page of the usual one', () => {
    const plugins = [source('mine', { interval: '1s' }), extractor('ex', 'sglang')];
    const dataLayer = { sources: [entry('mine', 'ex')] };
    expect(readingsOf({ plugins, dataLayer })).toEqual({ mine: undefined });
  });

  test('are those of the section alone where nothing is to be added', () => {
    const plugins = [source('side', { port: 9400 }), extractor('sg', 'sglang')];
    const dataLayer = { injectDefaults: false, sources: [entry('side', 'sg')] };
    expect(readingsOf({ plugins, dataLayer })).toEqual({ side: undefined });
  });

  test('[D618] read by one extractor each where the section says nothing, and adds nothing', () => {
    const plugins = [source('one'), source('two', { path: '/more' })];
    const dataLayer = { injectDefaults: false };
    const config = { plugins, dataLayer };
    expect(readingsOf(config)).toEqual({ one: ['vllm'], two: ['vllm'] });
    const { effective } = load(JSON.stringify(config), '');
    expect(load(JSON.stringify(effective), '').effective).toEqual(effective);
    const extractors = [{ defaultEngine: 'sglang' }];
    const beside = [source('own', { extractors }), source('two', { path: '/more' })];
    expect(readingsOf({ plugins: beside, dataLayer })).toEqual({ own: ['sglang'], two: ['vllm'] });
  });

  test('and extractors that nothing names are left out, with a note', () => {
    const plugins = [source('side'), extractor('sg', 'sglang'), { type: EXTRACTOR }];
    expect(readingsOf({ plugins })).toEqual({ [SOURCE]: undefined });
    expect(notesOf({ plugins })).toEqual([
      'plugins[0]: side has nothing to do; name it in dataLayer.sources, with an extractor, or leave it out',
      'plugins[1]: sg has nothing to do; name it in the extractors of a metrics source in dataLayer.sources, or leave it out',
    ]);
  });

  test('read again from the effective configuration are the same', () => {
    const plugins = [source('side', { port: 9400 }), extractor('sg', 'sglang')];
    const config = { plugins, dataLayer: { sources: [entry('side', 'sg')] } };
    const { effective } = load(JSON.stringify(config), '');
    expect(readingsOf(effective)).toEqual(readingsOf(config));
    expect(load(JSON.stringify(effective), '').effective).toEqual(effective);
  });
});
