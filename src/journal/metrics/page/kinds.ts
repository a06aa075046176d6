import { valueLine } from './metrics-page.ts';
import type { PageFormat } from './page-format.ts';
import { type Cell, Tally } from './tally.ts';

export type MetricLabels = Readonly<Record<string, string>>;

export interface MetricSample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** The name of the metric where left out. */
  readonly metricName?: string;
}

/** What the children of a family are, and how they are written. */
export interface Kind<Child> {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** The most lines of one child. */
  readonly lines: number;
  create(): Child;
  add(into: Child, from: Child): void;
  samples(name: string, labels: MetricLabels, child: Child): readonly MetricSample[];
  /** The samples as text of the page. `labels` as `labelText` makes them. */
  text(name: string, labels: string, child: Child, format: PageFormat): string;
}

/** Children with one value each. */
export function cells(type: 'counter' | 'gauge'): Kind<Cell> {
  return {
    type,
    lines: 1,
    create: () => ({ value: 0 }),
    add: (into, from) => {
      into.value += from.value;
    },
    samples: (_name, labels, { value }) => [{ labels, value }],
    text: (name, labels, { value }) => valueLine(name, labels, value),
  };
}

/** Children without observations are not shown. */
export function tallies(bounds: readonly number[]): Kind<Tally> {
  return {
    type: 'histogram',
    lines: bounds.length + 3,
    create: () => new Tally(bounds),
    add: (into, from) => into.add(from),
    samples: histogramSamples,
    text: histogramText,
  };
}

function histogramSamples(
  name: string,
  labels: MetricLabels,
  tally: Tally,
): readonly MetricSample[] {
  if (tally.count === 0) return [];
  const metricName = `${name}_bucket`;
  let cumulative = 0;
  const samples: MetricSample[] = tally.bounds.map((le, index) => {
    cumulative += tally.counts[index] ?? 0;
    return { metricName, labels: { ...labels, le }, value: cumulative };
  });
  samples.push(
    { metricName, labels: { ...labels, le: '+Inf' }, value: tally.count },
    { metricName: `${name}_sum`, labels, value: tally.sum },
    { metricName: `${name}_count`, labels, value: tally.count },
  );
  return samples;
}

function histogramText(name: string, labels: string, tally: Tally, format: PageFormat): string {
  if (tally.count === 0) return '';
  const before = `${name}_bucket{${labels === '' ? '' : `${labels},`}le="`;
  let cumulative = 0;
  const exemplarOf = (bucket: number): string => format.exemplar(tally.exemplars?.[bucket]);
  let text = '';
  tally.bounds.forEach((le, index) => {
    cumulative += tally.counts[index] ?? 0;
    text += `${before}${format.bound(le)}"} ${cumulative}${exemplarOf(index)}\n`;
  });
  text += `${before}+Inf"} ${tally.count}${exemplarOf(tally.bounds.length)}\n`;
  return `${text}${valueLine(`${name}_sum`, labels, tally.sum)}${valueLine(`${name}_count`, labels, tally.count)}`;
}
