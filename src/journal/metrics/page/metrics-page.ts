import type { Registry } from 'prom-client';
import { TimeSlices } from '../../../runtime/clock/time-slices.ts';
import type { PageFormat } from './page-format.ts';

/** A metric that gives its text in pieces, each of few lines, under one of its names. */
export interface PieceMetric {
  pieces(format: PageFormat, name: string): Iterable<string>;
}

/** Bytes are made of so many characters at once. */
const CHUNK_CHARACTERS = 32 * 1024;

/**
 * The page in one of Prometheus' text formats. It is made in slices, between which requests are
 * decided, and scrapes at the same time share one page of a format. Histograms are consistent in
 * themselves; two metrics may be some milliseconds apart.
 */
export class MetricsPage {
  readonly #registry: Registry;
  readonly #formerNames: (name: string) => readonly string[];
  readonly #underWay = new Map<PageFormat, Promise<readonly Uint8Array[]>>();

  /** Each metric is shown under its former names, too, as far as no other metric has them. */
  constructor(registry: Registry, formerNames: (name: string) => readonly string[] = () => []) {
    this.#registry = registry;
    this.#formerNames = formerNames;
  }

  /** Its bytes in order. Rejects with what a metric throws. */
  bytes(format: PageFormat): Promise<readonly Uint8Array[]> {
    const underWay = this.#underWay.get(format);
    if (underWay !== undefined) return underWay;
    const making = this.#make(format).finally(() => this.#underWay.delete(format));
    this.#underWay.set(format, making);
    return making;
  }

  async #make(format: PageFormat): Promise<readonly Uint8Array[]> {
    const slices = new TimeSlices();
    const encoder = new TextEncoder();
    const chunks: Uint8Array[] = [];
    let text = '';
    for (const [metric, name] of this.#shown()) {
      if (text !== '' || chunks.length > 0) text += format.between;
      for (const piece of await this.#piecesOf(metric, format, name)) {
        text += piece;
        if (text.length >= CHUNK_CHARACTERS) {
          chunks.push(encoder.encode(text));
          text = '';
        }
        if (slices.isOver) await slices.next();
      }
    }
    chunks.push(encoder.encode(text + format.end));
    return chunks;
  }

  /** All metrics, by each of their names. */
  *#shown(): Iterable<readonly [metric: { readonly name: string }, name: string]> {
    for (const metric of this.#registry.getMetricsAsArray()) {
      yield [metric, metric.name];
      for (const name of this.#formerNames(metric.name)) {
        if (this.#registry.getSingleMetric(name) === undefined) yield [metric, name];
      }
    }
  }

  async #piecesOf(
    metric: { readonly name: string },
    format: PageFormat,
    name: string,
  ): Promise<Iterable<string>> {
    if (hasPieces(metric)) return metric.pieces(format, name);
    return clientLines(this.#registry, metric.name, format, name);
  }
}

/**
 * A metric of prom-client, which writes OpenMetrics for whole registries only, and NaN as `Nan`.
 */
async function clientLines(
  registry: Registry,
  metricName: string,
  format: PageFormat,
  name: string,
): Promise<readonly string[]> {
  const metric = (await registry.getSingleMetric(metricName)?.get()) as ClientMetric | undefined;
  if (metric === undefined) return [];
  const lines = metric.values.map(({ labels, value, metricName: line = metricName }) => {
    const le = labels['le'];
    const shown = typeof le === 'number' ? { ...labels, le: format.bound(le) } : labels;
    return valueLine(line.replace(metricName, name), labelText(shown), value);
  });
  return [format.head(name, metric.help, metric.type), ...lines];
}

/** What a metric of prom-client gives; its types lack the names of lines. */
interface ClientMetric {
  readonly help: string;
  readonly type: string;
  readonly values: readonly {
    readonly labels: Readonly<Record<string, string | number>>;
    readonly value: number;
    readonly metricName?: string;
  }[];
}

function hasPieces(metric: object): metric is PieceMetric {
  return 'pieces' in metric;
}

/** `a="1",b="2"`, in the order of the labels. */
export function labelText(labels: Readonly<Record<string, string | number>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapedValue(String(value))}"`)
    .join(',');
}

/** `labels` as `labelText` makes them; empty for none. */
export function valueLine(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${valueText(value)}\n`;
}

function valueText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}

function escapedValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
