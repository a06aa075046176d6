import type { Metric, Registry } from 'prom-client';
import type { EndpointId } from '../../framework/endpoint.ts';
import { type Cell, Tally } from './tally.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** The name of the metric where left out. */
  readonly metricName?: string;
}

interface ShownMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
}

/** Shows a metric on the page; `samples` makes its lines for each page. */
export function showMetric(
  registry: Registry,
  { name, help, type }: ShownMetric,
  samples: () => readonly Sample[],
): void {
  const entry = { name, get: () => Promise.resolve({ name, help, type, values: samples() }) };
  // A registry uses only `name` and `get()` of an entry; its type asks for prom-client's classes.
  registry.registerMetric(entry as unknown as Metric);
}

interface Kind<Child> {
  readonly type: ShownMetric['type'];
  create(): Child;
  add(into: Child, from: Child): void;
  samples(name: string, labels: Labels, child: Child): readonly Sample[];
}

interface PageEntry {
  readonly name: string;
  /** Without the `[ALPHA]` that precedes the help of every metric of the reference. */
  readonly help: string;
  /** Children that differ only in other labels are shown as their sum. */
  readonly labels: readonly string[];
}

/** The children of one metric. The hot path needs no look-up; prom-client collects later. */
export class Family<Child> {
  readonly #kind: Kind<Child>;
  readonly #children = new Map<Child, Labels>();

  constructor(kind: Kind<Child>) {
    this.#kind = kind;
  }

  /** A new child for each call. Keep it. */
  child(labels: Labels): Child {
    const child = this.#kind.create();
    this.#children.set(child, labels);
    return child;
  }

  drop(child: Child): void {
    this.#children.delete(child);
  }

  /** Shows the family on the page. One family may have several names. */
  expose(registry: Registry, { name, help, labels }: PageEntry): this {
    const metric = { name, help: `[ALPHA] ${help}`, type: this.#kind.type };
    showMetric(registry, metric, () => this.#samples(name, labels.toSorted()));
    return this;
  }

  #samples(name: string, labelNames: readonly string[]): readonly Sample[] {
    const groups = new Map<string, { readonly labels: Labels; readonly sum: Child }>();
    for (const [child, labels] of this.#children) {
      const shown = Object.fromEntries(labelNames.map((label) => [label, labels[label] ?? '']));
      const key = JSON.stringify(shown);
      let group = groups.get(key);
      if (group === undefined) {
        group = { labels: shown, sum: this.#kind.create() };
        groups.set(key, group);
      }
      this.#kind.add(group.sum, child);
    }
    return [...groups.values()].flatMap(({ labels, sum }) => this.#kind.samples(name, labels, sum));
  }
}

/** Shows families on the page with the reference picker's prefix before their names. */
export function eppPage(
  registry: Registry,
): <Child>(
  family: Family<Child>,
  name: string,
  help: string,
  labels: readonly string[],
) => Family<Child> {
  return (family, name, help, labels) =>
    family.expose(registry, { name: `llm_d_epp_${name}`, help, labels });
}

export function counters(): Family<Cell> {
  return new Family(cells('counter'));
}

export function gauges(): Family<Cell> {
  return new Family(cells('gauge'));
}

/** Children without observations are not shown: most label sets never stream or report usage. */
export function histograms(bounds: readonly number[]): Family<Tally> {
  return new Family({
    type: 'histogram',
    create: () => new Tally(bounds),
    add: (into, from) => into.add(from),
    samples: histogramSamples,
  });
}

function cells(type: 'counter' | 'gauge'): Kind<Cell> {
  return {
    type,
    create: () => ({ value: 0 }),
    add: (into, from) => {
      into.value += from.value;
    },
    samples: (_name, labels, { value }) => [{ labels, value }],
  };
}

function histogramSamples(name: string, labels: Labels, tally: Tally): readonly Sample[] {
  if (tally.count === 0) return [];
  const metricName = `${name}_bucket`;
  let cumulative = 0;
  const samples: Sample[] = tally.bounds.map((le, index) => {
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

/** The reference's labels of an endpoint. The namespace precedes the first slash of the id. */
export function endpointLabels(id: EndpointId): {
  readonly endpoint_name: string;
  readonly namespace: string;
} {
  const slash = id.indexOf('/');
  return { endpoint_name: id.slice(slash + 1), namespace: id.slice(0, Math.max(0, slash)) };
}

/** The label value of all names beyond a cap, as in the reference. */
export const OTHER = 'other';

/** Longer than any model name in use. Every scrape would transfer a label of a megabyte. */
const NAME_CHARS_MAX = 256;

interface NameCap {
  /** The name itself; `other` for a new name once as many as the cap are known. */
  admit(name: string): string;
  /** The name itself if it is known, else `other`. A new name stays unknown. */
  known(name: string): string;
}

/** Bounds the values of a label that clients choose, such as model names. */
export function createNameCap(namesMax: number): NameCap {
  const names = new Set<string>();
  return {
    admit(name) {
      if (names.has(name)) return name;
      if (names.size >= namesMax || name.length > NAME_CHARS_MAX) return OTHER;
      names.add(name);
      return name;
    },
    known: (name) => (names.has(name) ? name : OTHER),
  };
}
