import type { Metric, Registry } from 'prom-client';
import { Tally } from './tally.ts';

export type Labels = Readonly<Record<string, string | number>>;

interface Child {
  readonly labels: Labels;
  readonly tally: Tally;
}

export interface TallyFamilyOptions {
  readonly name: string;
  readonly help: string;
  readonly buckets: readonly number[];
  readonly registry: Registry;
}

/** A prom-client metric of type histogram whose children are tallies. */
export class TallyFamily {
  readonly #children = new Map<string, Child>();
  readonly #buckets: readonly number[];

  constructor({ name, help, buckets, registry }: TallyFamilyOptions) {
    this.#buckets = buckets;
    registry.registerMetric({
      name,
      help,
      reset: () => this.#children.clear(),
      get: () =>
        Promise.resolve({
          name,
          help,
          type: 'histogram',
          aggregator: 'sum',
          values: this.#values(name),
        }),
    } as unknown as Metric<string>);
  }

  /** The child for these labels; keep it, the look-up is not for the hot path. `key` stands for the labels. */
  child(key: string, labels: Labels): Tally {
    let child = this.#children.get(key);
    if (child === undefined) {
      child = { labels, tally: new Tally(this.#buckets) };
      this.#children.set(key, child);
    }
    return child.tally;
  }

  #values(name: string): readonly object[] {
    const values: object[] = [];
    for (const { labels, tally } of this.#children.values()) {
      let cumulative = 0;
      tally.bounds.forEach((bound, index) => {
        cumulative += tally.counts[index] ?? 0;
        values.push({
          metricName: `${name}_bucket`,
          labels: { ...labels, le: bound },
          value: cumulative,
        });
      });
      values.push({
        metricName: `${name}_bucket`,
        labels: { ...labels, le: '+Inf' },
        value: tally.count,
      });
      values.push({ metricName: `${name}_sum`, labels, value: tally.sum });
      values.push({ metricName: `${name}_count`, labels, value: tally.count });
    }
    return values;
  }
}
