import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeriesFinder, type SeriesSpec } from './prometheus-scan.ts';

const SEED = 20_261_121;
const sum = (a: number, b: number): number => a + b;

function spec(name: string, labels: Readonly<Record<string, string>> = {}): SeriesSpec {
  return { name, labels: new Map(Object.entries(labels)) };
}

function total(page: string, wanted: SeriesSpec): number | undefined {
  return new SeriesFinder(wanted).combined(Buffer.from(page), sum);
}

function labelsOf(page: string, wanted: SeriesSpec): readonly Record<string, string>[] {
  const samples = new SeriesFinder(wanted).samples(Buffer.from(page));
  return samples.map(({ labels }) => Object.fromEntries(labels));
}

describe('SeriesFinder', () => {
  it('reads a series with and without labels, on the first line and on the last without a newline', () => {
    expect(total('a 1\nb{x="y"} 2', spec('a'))).toBe(1);
    expect(total('a 1\nb{x="y"} 2', spec('b'))).toBe(2);
  });

  it('does not take a metric whose name only begins alike', () => {
    const page = 'v:waiting_by_reason{reason="capacity"} 7\nv:waiting{engine="0"} 3\n';
    expect(total(page, spec('v:waiting'))).toBe(3);
    expect(total('v:waiting_total 7\n', spec('v:waiting'))).toBeUndefined();
  });

  it('does not take a name within a comment or a label', () => {
    const page = '# HELP a 5\n# TYPE a gauge\nb{of="\\na 6"} 1\n#a 8\n';
    expect(total(page, spec('a'))).toBeUndefined();
  });

  it('adds up the series of one metric, past comments and empty lines', () => {
    const page = 'q{engine="0"} 1\nq{engine="1"} 2\n# by hand\n\nq{engine="2"} 4\nr 8\n';
    expect(total(page, spec('q'))).toBe(7);
  });

  it('takes only series that carry the labels wanted, in any order', () => {
    const page = 'q{b="2",kind="max"} 1\nq{kind="max",b="3"} 2\nq{kind="min"} 4\nq 8\n';
    expect(total(page, spec('q', { kind: 'max' }))).toBe(3);
  });

  it.each([
    ['1.5e+03', 1500],
    ['2.6394316800e+010', 26_394_316_800],
    ['+Inf', Number.POSITIVE_INFINITY],
    ['12.0 1790000000000', 12],
    ['12.0\r', 12],
    ['  7', 7],
    ['\t7\t', 7],
  ])('reads the value %j', (text, value) => {
    expect(total(`a{x="y"} ${text}\n`, spec('a'))).toBe(value);
    expect(total(`a ${text}\n`, spec('a'))).toBe(value);
  });

  it.each(['NaN', '-Inf', '-1', 'much', '', '{', '1,5'])('finds no value in %j', (text) => {
    expect(total(`a{x="y"} ${text}\n`, spec('a'))).toBeUndefined();
    expect(total(`a ${text}\n`, spec('a'))).toBeUndefined();
  });

  it('reads escaped, empty and odd label values, and blanks around labels', () => {
    const page = 'a {x="q\\"}=, \\\\ \\n",y="",z="é,{" , } 3\n';
    expect(labelsOf(page, spec('a'))).toEqual([{ x: 'q"}=, \\ \n', y: '', z: 'é,{' }]);
    expect(total(page, spec('a'))).toBe(3);
  });

  it('finds a series again after it has moved, come or gone', () => {
    const finder = new SeriesFinder(spec('a'));
    const read = (page: string): number | undefined => finder.combined(Buffer.from(page), sum);
    const filler = 'z 1234567\n'.repeat(200);
    expect(read(`${filler}a 1\n`)).toBe(1);
    expect(read(`z 1\n${filler}a 2\n`)).toBe(2);
    expect(read('a 3\n')).toBe(3);
    expect(read(filler)).toBeUndefined();
    expect(read(`a{n="0"} 4\n${filler}`)).toBe(4);
    expect(read(`a{n="0"} 4\na{n="1"} 5\n${filler}`)).toBe(9);
    expect(read(`${'#\n'.repeat(200)}a{n="0"} 4\na{n="1"} 5\na{n="2"} 6\n`)).toBe(15);
  });

  it('does not begin in the middle of the series when one stands where the first was', () => {
    const finder = new SeriesFinder(spec('a'));
    expect(finder.combined(Buffer.from('z 1234567\na 1\n'), sum)).toBe(1);
    expect(finder.combined(Buffer.from('a 1\na 234\na 5\n'), sum)).toBe(240);
  });

  it('gives the same samples while their lines are the same, even if the page has other memory', () => {
    const finder = new SeriesFinder(spec('info'));
    const first = finder.samples(Buffer.from('x 1\ninfo{size="16"} 1\n'));
    expect(finder.samples(Buffer.from('x 22\ninfo{size="16"} 1\n'))).toBe(first);
    expect(finder.samples(Buffer.from('info{size="32"} 1\n'))).not.toBe(first);
  });

  it('keeps its samples when the memory of the page is used again', () => {
    const finder = new SeriesFinder(spec('info'));
    const page = Buffer.from('info{size="16"} 1\n');
    finder.samples(page);
    page.write('info{size="99"} 1\n');
    expect(finder.samples(page)[0]?.labels.get('size')).toBe('99');
  });

  it('reads any page as a plain parser does, from any remembered place', () => {
    const pages = fc.array(pageArbitrary, { minLength: 1, maxLength: 4 });
    const property = fc.property(pages, specArbitrary, (texts, wanted) => {
      const finder = new SeriesFinder(wanted);
      for (const text of texts) {
        const page = Buffer.from(text);
        const expected = parsePlainly(text, wanted);
        const found = finder.samples(page).map(({ labels, value }) => [[...labels], value]);
        expect(found).toEqual(expected.map(({ labels, value }) => [labels, value]));
        const combined = expected.map(({ value }) => value).filter((value) => value >= 0);
        expect(finder.combined(page, sum)).toBe(
          combined.length === 0 ? undefined : combined.reduce(sum),
        );
      }
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });

  it('never throws, whatever the bytes', () => {
    const shreds = fc.constantFrom(
      'a',
      'a{',
      'x="',
      '"',
      '\\',
      '}',
      ' ',
      '\n',
      '\r',
      '#',
      '1',
      '=',
    );
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
      fc.array(shreds, { maxLength: 60 }).map((parts) => Buffer.from(parts.join(''))),
    );
    const property = fc.property(fc.array(bytes, { maxLength: 3 }), (pages) => {
      for (const wanted of [spec('a'), spec('a', { x: '' })]) {
        const finder = new SeriesFinder(wanted);
        for (const page of pages) {
          finder.samples(page);
          finder.combined(page, sum);
        }
      }
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });
});

interface PlainSample {
  readonly labels: readonly (readonly [string, string])[];
  readonly value: number;
}

/** The whole page, line by line, by regular expressions. */
function parsePlainly(text: string, { name, labels: wanted }: SeriesSpec): readonly PlainSample[] {
  const samples: PlainSample[] = [];
  for (const line of text.split(/\r?\n/)) {
    const match = /^([^\s{#]+)[ \t]*(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?[ \t]+(\S+)/.exec(line);
    if (match?.[1] !== name) continue;
    const pairs = [...(match[2] ?? '').matchAll(/([\w]+)\s*=\s*"((?:[^"\\]|\\.)*)"/g)];
    const labels = pairs.map(([, key = '', raw = '']) => [key, unescapePlainly(raw)] as const);
    const byName = new Map(labels);
    const value = numberPlainly(match[3] ?? '');
    const carries = [...wanted].every(([key, each]) => byName.get(key) === each);
    if (carries && !Number.isNaN(value)) samples.push({ labels, value });
  }
  return samples;
}

function unescapePlainly(raw: string): string {
  return raw.replace(/\\\\|\\"|\\n/g, (escape) => (escape === '\\n' ? '\n' : escape.slice(1)));
}

function numberPlainly(text: string): number {
  return Number(text.replace(/^([+-]?)Inf$/, '$1Infinity'));
}

const NAMES = ['a', 'ab', 'a:b', 'a_total'];
const labelArbitrary = fc
  .string({
    unit: fc.constantFrom('x', 'é', '"', '\\', '\n', '{', '}', ',', '=', ' '),
    maxLength: 5,
  })
  .map(
    (text) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`,
  );
const valueArbitrary = fc.oneof(
  fc.integer({ min: -5, max: 1_000_000 }).map(String),
  fc.double({ noNaN: true }).map(String),
  fc.constantFrom('NaN', '+Inf', '-Inf', 'Inf', '1e3', '2.50e+010', '0.0 1790000000000'),
);
const seriesArbitrary = fc.tuple(
  fc.uniqueArray(fc.tuple(fc.constantFrom('x', 'y', 'z'), labelArbitrary), {
    selector: ([key]) => key,
    maxLength: 3,
  }),
  valueArbitrary,
  fc.constantFrom('', ' ', '\r', ' \t'),
);
const groupArbitrary = fc.array(seriesArbitrary, { maxLength: 4 });
const pageArbitrary = fc
  .tuple(
    fc.shuffledSubarray(NAMES),
    fc.array(groupArbitrary, { minLength: NAMES.length, maxLength: NAMES.length }),
    fc.constantFrom('', '\n', '# a comment of a{x="1"} 3\n', 'zz{x="y"} 1\n'.repeat(40)),
    fc.boolean(),
  )
  .map(([names, groups, before, ended]) => {
    const lines = names.flatMap((name, index) => [
      `# HELP ${name} a 1`,
      `# TYPE ${name} gauge`,
      ...(groups[index] ?? []).map(
        ([labels, value, tail]) => `${name}${labelText(labels)} ${value}${tail}`,
      ),
    ]);
    return `${before}${lines.join('\n')}${ended ? '\n' : ''}`;
  });
const specArbitrary = fc
  .tuple(
    fc.constantFrom(...NAMES),
    fc.constantFrom<Record<string, string>>({}, {}, { x: 'x' }, { y: '' }),
  )
  .map(([name, labels]) => spec(name, labels));

function labelText(labels: readonly (readonly [string, string])[]): string {
  return labels.length === 0 ? '' : `{${labels.map(([key, text]) => `${key}=${text}`).join(',')}}`;
}
