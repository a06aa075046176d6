import { Gauge, Histogram, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { counters, histograms } from './family.ts';
import { MetricsPage } from './metrics-page.ts';
import { formatFor, OPEN_METRICS, type PageFormat, PLAIN_TEXT } from './page-format.ts';

const seen = (name: string, wallTime: number) => ({ traceId: name.repeat(32), wallTime });

async function text(registry: Registry, format: PageFormat): Promise<string> {
  return Buffer.concat(await new MetricsPage(registry).bytes(format)).toString();
}

describe('OpenMetrics', () => {
  it('[O175] has the latest trace of each bucket, and ends with EOF', async () => {
    const registry = new Registry();
    const family = histograms([1, 1_048_576]).expose(registry, {
      name: 'h',
      help: 'h',
      labels: [],
    });
    const tally = family.child({});
    tally.observe(0.5, seen('a', 1000));
    tally.observe(0.25, seen('b', 2500));
    tally.observe(0.75);
    tally.observe(7);
    expect(await text(registry, OPEN_METRICS)).toBe(
      [
        '# HELP h [ALPHA] h',
        '# TYPE h histogram',
        `h_bucket{le="1.0"} 3 # {trace_id="${'b'.repeat(32)}"} 0.25 2.5`,
        'h_bucket{le="1.048576e+06"} 4',
        'h_bucket{le="+Inf"} 4',
        'h_sum 8.5',
        'h_count 4',
        '# EOF',
        '',
      ].join('\n'),
    );
    expect(await text(registry, PLAIN_TEXT)).toBe(await registry.metrics());
  });

  it('shows the latest trace of children that one name shows as one', async () => {
    const registry = new Registry();
    const family = histograms([1]).expose(registry, { name: 'h', help: 'h', labels: [] });
    family.child({ model: 'x' }).observe(0.5, seen('c', 3000));
    family.child({ model: 'y' }).observe(0.5, seen('a', 2000));
    expect(await text(registry, OPEN_METRICS)).toContain(`"} 2 # {trace_id="${'c'.repeat(32)}"}`);
  });

  it('names counters without their ending, and calls one without it unknown', async () => {
    const registry = new Registry();
    counters().expose(registry, { name: 'a_total', help: 'of "a"', labels: [] }).child({});
    counters().expose(registry, { name: 'b', help: 'b', labels: [] }).child({});
    expect(await text(registry, OPEN_METRICS)).toBe(
      '# HELP a [ALPHA] of \\"a\\"\n# TYPE a counter\na_total 0\n' +
        '# HELP b [ALPHA] b\n# TYPE b unknown\nb 0\n# EOF\n',
    );
  });

  it('has what prom-client holds itself, and former names', async () => {
    const registry = new Registry();
    new Histogram({ name: 'now_x', help: 'x', buckets: [1], registers: [registry] }).observe(0.5);
    const page = new MetricsPage(registry, (name) => [name.replace('now', 'before')]);
    const shown = Buffer.concat(await page.bytes(OPEN_METRICS)).toString();
    for (const name of ['now_x', 'before_x']) {
      expect(shown).toContain(
        `# TYPE ${name} histogram\n${name}_bucket{le="1.0"} 1\n${name}_bucket{le="+Inf"} 1\n`,
      );
    }
  });
});

describe.each([OPEN_METRICS, PLAIN_TEXT])('$contentType', (format) => {
  it('[B244] writes what is no number as both formats have it', async () => {
    const registry = new Registry();
    const gauge = new Gauge({ name: 'g', help: 'g', labelNames: ['of'], registers: [registry] });
    gauge.set({ of: 'none' }, Number.NaN);
    gauge.set({ of: 'all' }, Number.POSITIVE_INFINITY);
    gauge.set({ of: 'less' }, Number.NEGATIVE_INFINITY);
    expect(await text(registry, format)).toContain(
      'g{of="none"} NaN\ng{of="all"} +Inf\ng{of="less"} -Inf\n',
    );
  });
});

it('[B244] has the names and values that prom-client gives', async () => {
  const registry = new Registry();
  new Histogram({ name: 'h', help: 'a\n"b"', buckets: [0.5, 1], registers: [registry] }).observe(
    0.7,
  );
  new Gauge({ name: 'g', help: 'g', registers: [registry] }).set(3);
  const plain = await text(registry, PLAIN_TEXT);
  expect(plain).toBe(await registry.metrics());
});

describe('formatFor', () => {
  it.each([
    [undefined, PLAIN_TEXT],
    ['', PLAIN_TEXT],
    ['*/*', PLAIN_TEXT],
    ['text/html, */*;q=0.8', PLAIN_TEXT],
    ['application/openmetrics-text', OPEN_METRICS],
    ['application/openmetrics-text; version=1.0.0; charset=utf-8', OPEN_METRICS],
    ['application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.1', OPEN_METRICS],
    ['application/openmetrics-text;q=0.2,text/plain;q=0.3', PLAIN_TEXT],
    ['application/openmetrics-text;q=0', PLAIN_TEXT],
    ['application/openmetrics-text;version=9.0.0', PLAIN_TEXT],
    ['application/openmetrics-text;q=none', PLAIN_TEXT],
    [
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
      OPEN_METRICS,
    ],
  ])('[O175] takes `%s` as it prefers', (accept, format) => {
    expect(formatFor(accept)).toBe(format);
  });
});
