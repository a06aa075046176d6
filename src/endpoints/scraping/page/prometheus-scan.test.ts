import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Sample, SERIES_MAX, SeriesFinder } from './prometheus-scan.ts';
import type { SeriesSpec } from './series-spec.ts';

const SEED = 20_261_121;
const sum = (a: number, b: number): number => a + b;

function spec(name: string, labels: Readonly<Record<string, string>> = {}): SeriesSpec {
  return { name, labels: new Map(Object.entries(labels)) };
}

function total(page: string, wanted: SeriesSpec): number | undefined {
  return new SeriesFinder(wanted).combined(Buffer.from(page), sum);
}

function labelsOf(page: string, wanted: SeriesSpec): Record<string, string> {
  const sample = new SeriesFinder(wanted).first(Buffer.from(page));
  return Object.fromEntries(sample?.labels ?? []);
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

  it('[B224] finds lines that moved by a few bytes without a search', () => {
    const work = { bytes: 0 };
    const finder = new SeriesFinder(spec('v:waiting'), work);
    const pageOf = (above: string): Buffer =>
      Buffer.from(
        `# TYPE v:running gauge\nv:running ${above}\n# TYPE v:waiting gauge\nv:waiting 3\n`,
      );
    expect(finder.combined(pageOf('10'), sum)).toBe(3);
    const perLine = work.bytes - pageOf('10').indexOf('\nv:waiting');
    for (const above of ['1000', '9', '100', '1', '1']) {
      work.bytes = 0;
      expect(finder.combined(pageOf(above), sum)).toBe(3);
      expect(work.bytes).toBe(perLine);
    }
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

  it.each(['NaN', 'much', '', '{', '1,5', '7'.repeat(65), `7${'x'.repeat(100)}`])(
    'reads %j as no number',
    (text) => {
      expect(total(`a{x="y"} ${text}\n`, spec('a'))).toBeNaN();
      expect(total(`a ${text}\n`, spec('a'))).toBeNaN();
    },
  );

  it.each([
    ['-Inf', Number.NEGATIVE_INFINITY],
    ['-1', -1],
    ['nothing', Number.NaN],
  ])('lets no other series make up for one of %s', (text, value) => {
    expect(total(`a{n="0"} 5\na{n="1"} ${text}\na{n="2"} 5\n`, spec('a'))).toBe(value);
  });

  it('reads escaped, empty and odd label values, and blanks around labels', () => {
    const page = 'a {x="q\\"}=, \\\\ \\n",y="",z="é,{" , } 3\n';
    expect(labelsOf(page, spec('a'))).toEqual({ x: 'q"}=, \\ \n', y: '', z: 'é,{' });
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

  it('[V41] reads a bounded number of series, and of comments among them', () => {
    const series = (count: number): string =>
      Array.from({ length: count }, (_, index) => `a{n="${index}"} 1\n`).join('');
    expect(total(series(SERIES_MAX), spec('a'))).toBe(SERIES_MAX);
    expect(total(series(SERIES_MAX + 1), spec('a'))).toBeNaN();
    expect(total(`a 1\n${'\n'.repeat(16)}a 2\n`, spec('a'))).toBe(3);
    expect(total(`a 1\n${'\n'.repeat(17)}a 2\n`, spec('a'))).toBe(1);
  });

  it('[V41] takes a line with too many labels or bytes for malformed', () => {
    const labels = (count: number): string =>
      Array.from({ length: count }, (_, index) => `n${index}=""`).join(',');
    const read = (line: string) => new SeriesFinder(spec('a')).first(Buffer.from(`${line}\n`));
    expect(read(`a{${labels(64)}} 1`)?.labels.size).toBe(64);
    expect(read(`a{${labels(65)}} 1`)).toBeUndefined();
    expect(read(`a{x="${'y'.repeat(60_000)}"} 1`)?.value).toBe(1);
    expect(read(`a{x="${'y'.repeat(70_000)}"} 1`)).toBeUndefined();
  });

  it('does not begin in the middle of the series when one stands where the first was', () => {
    const finder = new SeriesFinder(spec('a'));
    expect(finder.combined(Buffer.from('z 1234567\na 1\n'), sum)).toBe(1);
    expect(finder.combined(Buffer.from('a 1\na 234\na 5\n'), sum)).toBe(240);
  });

  it('gives the same sample while its line is the same, even if the page has other memory', () => {
    const finder = new SeriesFinder(spec('info'));
    const first = finder.first(Buffer.from('x 1\ninfo{size="16"} 1\n'));
    expect(finder.first(Buffer.from('x 22\ninfo{size="16"} 1\n'))).toBe(first);
    expect(finder.first(Buffer.from('info{size="32"} 1\n'))).not.toBe(first);
  });

  it('keeps its sample when the memory of the page is used again', () => {
    const finder = new SeriesFinder(spec('info'));
    const page = Buffer.from('info{size="16"} 1\n');
    finder.first(page);
    page.write('info{size="99"} 1\n');
    expect(finder.first(page)?.labels.get('size')).toBe('99');
  });

  it('reads any page as a plain parser does, from any remembered place', () => {
    const pages = fc.array(pageArbitrary, { minLength: 1, maxLength: 4 });
    const property = fc.property(pages, specArbitrary, (texts, wanted) => {
      const finder = new SeriesFinder(wanted);
      for (const text of texts) {
        const page = Buffer.from(text);
        const expected = parsePlainly(text, wanted);
        const numbers = expected.filter(({ value }) => !Number.isNaN(value));
        expect(plain(finder.first(page))).toEqual(numbers[0]);
        const most = Math.max(...numbers.map(({ value }) => value));
        expect(finder.largest(page).map(plain)).toEqual(
          numbers.filter(({ value }) => value === most && value > Number.NEGATIVE_INFINITY),
        );
        const values = expected.map(({ value }) => value);
        const bad = values.find((value) => !(value >= 0));
        const whole = values.length === 0 ? undefined : values.reduce(sum);
        expect(finder.combined(page, sum)).toBe(values.length > 0 ? (bad ?? whole) : undefined);
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
          finder.first(page);
          finder.largest(page);
          finder.combined(page, sum);
        }
      }
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });
});

function plain(sample: Sample | undefined): PlainSample | undefined {
  return sample && { labels: [...sample.labels], value: sample.value };
}

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
    const carries = [...wanted].every(([key, each]) => (byName.get(key) ?? '') === each);
    if (carries) samples.push({ labels, value });
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
