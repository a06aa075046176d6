import { describe, expect, test } from 'vitest';
import { issuesOf, load } from '../../../test/support/load-text.ts';

type Given = Readonly<Record<string, unknown>>;

const SOURCE = 'multicluster-metrics-data-source';
const EXTRACTOR = 'multicluster-metrics-extractor';

const source = (name: string, parameters: Given = {}): Given => ({
  type: SOURCE,
  name,
  parameters,
});
const extractor = (name: string, queueSizeMetric: string): Given => ({
  type: EXTRACTOR,
  name,
  parameters: { queueSizeMetric },
});
const entry = (pluginRef: string, ...extractors: readonly string[]): Given => ({
  pluginRef,
  extractors: extractors.map((each) => ({ pluginRef: each })),
});

/** The data sources that run, each with its order and the queues of extractors of its own. */
function readingsOf(config: object): object {
  const { plugins } = load(JSON.stringify(config), '');
  const sources = plugins.filter(({ definition }) => definition.type.endsWith('-data-source'));
  return Object.fromEntries(
    sources.map(({ name, config: given }) => {
      const { order = 0, extractors } = given as {
        readonly order?: number;
        readonly extractors?: readonly { readonly queueSizeMetric?: string }[];
      };
      return [name, [order, extractors?.map(({ queueSizeMetric }) => queueSizeMetric)]];
    }),
  );
}

const extractorsOf = (config: object): readonly string[] =>
  load(JSON.stringify(config), '')
    .plugins.filter(({ definition }) => definition.type === EXTRACTOR)
    .map(({ name }) => name);

const notesOf = (config: object): readonly string[] =>
  load(JSON.stringify(config), '')
    .notes.filter(({ reason }) => reason === 'unused')
    .map(({ text }) => text);

describe('[D554] several sources of the metrics of clusters', () => {
  test('run in the order of plugins, read by the one extractor', () => {
    const plugins = [source('b'), extractor('x', 'q'), source('a')];
    const sources = [entry('a', 'x'), entry('b', 'x')];
    for (const config of [{ plugins, dataLayer: { sources } }, { plugins }]) {
      expect(readingsOf(config)).toEqual({ b: [0, undefined], a: [1, undefined] });
      expect(extractorsOf(config)).toEqual(['x']);
      expect(notesOf(config)).toEqual([]);
    }
  });

  test('have each their extractors, where there are several', () => {
    const plugins = [source('a'), source('b'), extractor('x', 'q'), extractor('y', 'r')];
    const sources = [entry('a', 'x'), entry('b', 'y', 'x')];
    const config = { plugins, dataLayer: { sources } };
    expect(readingsOf(config)).toEqual({ a: [0, ['q']], b: [1, ['r', 'q']] });
    expect(extractorsOf(config)).toEqual([]);
    expect(readingsOf({ plugins })).toEqual({ a: [0, ['q', 'r']], b: [1, ['q', 'r']] });
    expect(notesOf(config)).toEqual([]);
  });

  test('and extractors that the section leaves out do not run, with a note', () => {
    const plugins = [source('a'), source('b'), extractor('x', 'q'), extractor('y', 'r')];
    const config = { plugins, dataLayer: { sources: [entry('a'), entry('b', 'y')] } };
    expect(readingsOf(config)).toEqual({ b: [0, undefined] });
    expect(extractorsOf(config)).toEqual(['y']);
    expect(notesOf(config)).toEqual([
      'plugins[0]: a has nothing to do; name it in dataLayer.sources, with an extractor, or leave it out',
      'plugins[2]: x has nothing to do; name it in the extractors of a metrics source in dataLayer.sources, or leave it out',
    ]);
  });

  test('stand beside a metrics source, whose values they do not take away', () => {
    const plugins = [source('a'), { type: 'metrics-data-source' }, extractor('x', 'q')];
    const sources = [entry('a', 'x')];
    expect(readingsOf({ plugins, dataLayer: { sources } })).toEqual({
      a: [0, undefined],
      'metrics-data-source': [1, [undefined]],
    });
    expect(readingsOf({ plugins: [source('a')] })).toEqual({ a: [0, undefined] });
  });

  test('read again from the effective configuration are the same', () => {
    const scorer = { type: 'multicluster-queue-scorer' };
    const two = [extractor('x', 'q'), extractor('y', 'r')];
    for (const extractors of [two, two.slice(1)]) {
      const config = { plugins: [source('b'), ...extractors, source('a'), scorer] };
      const { effective } = load(JSON.stringify(config), '');
      expect(readingsOf(effective)).toEqual(readingsOf(config));
      expect(load(JSON.stringify(effective), '').effective).toEqual(effective);
    }
  });

  test('without an extractor are an error where a scorer reads what it finds', () => {
    const plugins = [source('a'), source('b'), { type: 'multicluster-queue-scorer' }];
    expect(issuesOf(JSON.stringify({ plugins }), '')).toEqual([
      `plugins[2]: reads what ${EXTRACTOR} finds, which is not in plugins; list it, and name it in dataLayer.sources[].extractors`,
    ]);
  });
});
