import type { Metric, Registry } from 'prom-client';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { cells, type Kind, type MetricLabels, type MetricSample, tallies } from './kinds.ts';
import { labelText, type PieceMetric, valueLine } from './metrics-page.ts';
import type { PageFormat } from './page-format.ts';
import type { Cell, Tally } from './tally.ts';

export type { MetricLabels, MetricSample } from './kinds.ts';

interface ShownMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
}

/** Shows a metric on the page; `samples` makes its lines for each page. */
export function showMetric(
  registry: Registry,
  { name, help, type }: ShownMetric,
  samples: () => readonly MetricSample[],
): void {
  register(registry, { name, help, type }, samples, function* (_format, shownName) {
    for (const { labels, value, metricName = name } of samples()) {
      yield valueLine(metricName.replace(name, shownName), labelText(labels), value);
    }
  });
}

function register(
  registry: Registry,
  { name, help, type }: ShownMetric,
  samples: () => readonly MetricSample[],
  lines: PieceMetric['pieces'],
): void {
  const entry: { readonly name: string; readonly get: unknown } & PieceMetric = {
    name,
    get: () => Promise.resolve({ name, help, type, values: samples() }),
    *pieces(format: PageFormat, shownName: string) {
      yield format.head(shownName, help, type);
      yield* lines(format, shownName);
    },
  };
  // A registry uses only `name` and `get()` of an entry; its type asks for prom-client's classes.
  registry.registerMetric(entry as unknown as Metric);
}

interface PageEntry {
  readonly name: string;
  /** Without the `[ALPHA]` that precedes the help of every metric of the reference. */
  readonly help: string;
  /** Children that differ only in other labels are shown as their sum. */
  readonly labels: readonly string[];
}

/** The children that a name shows as one. */
interface Group<Child> {
  readonly labels: MetricLabels;
  readonly text: string;
  readonly children: Set<Child>;
}

/** One name of a family, with its groups by their label text. */
interface Exposure<Child> {
  readonly labelNames: readonly string[];
  readonly groups: Map<string, Group<Child>>;
}

/** The children of one metric. The hot path needs no look-up; the page is made of them later. */
export class Family<Child> {
  readonly #kind: Kind<Child>;
  readonly #children = new Map<Child, MetricLabels>();
  readonly #exposures: Exposure<Child>[] = [];
  #help = '';

  constructor(kind: Kind<Child>) {
    this.#kind = kind;
  }

  /** What it counts, as its first name says it. */
  get help(): string {
    return this.#help;
  }

  /** The most lines of one child, under all names together. */
  get lines(): number {
    return this.#kind.lines * this.#exposures.length;
  }

  /** A new child for each call. Keep it. */
  child(labels: MetricLabels): Child {
    const child = this.#kind.create();
    this.#children.set(child, labels);
    for (const exposure of this.#exposures) addTo(exposure, child, labels);
    return child;
  }

  drop(child: Child): void {
    const labels = this.#children.get(child);
    if (labels === undefined) return;
    this.#children.delete(child);
    for (const { labelNames, groups } of this.#exposures) {
      const text = labelText(shownLabels(labels, labelNames));
      const group = groups.get(text);
      group?.children.delete(child);
      if (group?.children.size === 0) groups.delete(text);
    }
  }

  /** Shows the family on the page. One family may have several names. */
  expose(registry: Registry, { name, help, labels }: PageEntry): this {
    if (this.#exposures.length === 0) this.#help = help;
    const exposure = { labelNames: labels.toSorted(), groups: new Map<string, Group<Child>>() };
    for (const [child, own] of this.#children) addTo(exposure, child, own);
    this.#exposures.push(exposure);
    const { groups } = exposure;
    const kind = this.#kind;
    register(
      registry,
      { name, help: `[ALPHA] ${help}`, type: kind.type },
      () =>
        [...groups.values()].flatMap((each) => kind.samples(name, each.labels, sumOf(kind, each))),
      function* (format, shownName) {
        for (const each of groups.values()) {
          yield kind.text(shownName, each.text, sumOf(kind, each), format);
        }
      },
    );
    return this;
  }
}

function addTo<Child>(
  { labelNames, groups }: Exposure<Child>,
  child: Child,
  own: MetricLabels,
): void {
  const labels = shownLabels(own, labelNames);
  const text = labelText(labels);
  const group = groups.get(text) ?? { labels, text, children: new Set() };
  groups.set(text, group);
  group.children.add(child);
}

function shownLabels(labels: MetricLabels, names: readonly string[]): MetricLabels {
  return Object.fromEntries(names.map((name) => [name, labels[name] ?? '']));
}

function sumOf<Child>(kind: Kind<Child>, { children }: Group<Child>): Child {
  const [only] = children;
  if (only !== undefined && children.size === 1) return only;
  const sum = kind.create();
  for (const child of children) kind.add(sum, child);
  return sum;
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

/** A family whose values only rise. */
export function counters(): Family<Cell> {
  return new Family(cells('counter'));
}

/** A family whose values rise and fall. */
export function gauges(): Family<Cell> {
  return new Family(cells('gauge'));
}

/** Children without observations are not shown: most label sets never stream or report usage. */
export function histograms(bounds: readonly number[]): Family<Tally> {
  return new Family(tallies(bounds));
}

/** The reference's labels of an endpoint. The namespace precedes the first slash of the id. */
export function endpointLabels(id: EndpointId): {
  readonly endpoint_name: string;
  readonly namespace: string;
} {
  const slash = id.indexOf('/');
  return { endpoint_name: id.slice(slash + 1), namespace: id.slice(0, Math.max(0, slash)) };
}
