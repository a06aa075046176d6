import type { Metric, Registry } from 'prom-client';
import type { EndpointId } from '../../framework/endpoint.ts';
import { type Cell, Tally } from './tally.ts';

export type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

/** How one kind of metric is kept, summed and shown. */
interface Kind<Child> {
  readonly type: 'counter' | 'gauge' | 'histogram';
  create(): Child;
  add(into: Child, from: Child): void;
  samples(name: string, labels: Labels, child: Child): readonly Sample[];
}

export interface PageEntry {
  readonly name: string;
  /** Without the `[ALPHA]` in front, which every metric of the reference carries. */
  readonly help: string;
  /** Children that differ only in other labels are shown as their sum. */
  readonly labels: readonly string[];
}

/**
 * The children of one metric, held where the hot path can write to them without a look-up.
 * prom-client still makes the page: it asks for the samples when it is scraped.
 */
export class Family<Child> {
  readonly #kind: Kind<Child>;
  readonly #children = new Map<Child, Labels>();

  constructor(kind: Kind<Child>) {
    this.#kind = kind;
  }

  /** A new child each time; who asks for one keeps it. */
  child(labels: Labels): Child {
    const child = this.#kind.create();
    this.#children.set(child, labels);
    return child;
  }

  drop(child: Child): void {
    this.#children.delete(child);
  }

  /** Puts the family on the page, under as many names as it has. */
  expose(registry: Registry, { name, help, labels }: PageEntry): this {
    const type = this.#kind.type;
    const values = (): readonly Sample[] => this.#samples(name, labels.toSorted());
    const entry = {
      name,
      get: () => Promise.resolve({ name, help: `[ALPHA] ${help}`, type, values: values() }),
    };
    // A registry only ever asks an entry for its name and for `get()`; the type wants one of
    // prom-client's own classes.
    registry.registerMetric(entry as unknown as Metric);
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

/** Puts families on the page with the reference picker's prefix before their names. */
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

/**
 * A child that has seen nothing is not shown: most label sets never stream, or never report usage.
 */
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

/**
 * The reference's labels of an endpoint; a namespace is what stands before the first slash of an
 * id, if one does.
 */
export function endpointLabels(id: EndpointId): {
  readonly endpoint_name: string;
  readonly namespace: string;
} {
  const slash = id.indexOf('/');
  return { endpoint_name: id.slice(slash + 1), namespace: id.slice(0, Math.max(0, slash)) };
}

/** What a name beyond the cap is called, as in the reference. */
export const OTHER = 'other';

/** Longer than any model name in use; a label of a megabyte would be sent at every scrape. */
const NAME_CHARS_MAX = 256;

export interface NameCap {
  /** The name itself while fewer than the cap are known, then `other` for new ones. */
  admit(name: string): string;
  /** The name itself if it is known, else `other`; makes nothing known. */
  known(name: string): string;
}

/**
 * Clients choose model names and fairness ids, so the number of label values they can make is
 * capped.
 */
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
