import type { Registry } from 'prom-client';
import { TimeSlices } from '../../../runtime/clock/time-slices.ts';

/** A metric that gives its text in pieces, each of few lines. */
export interface PieceMetric {
  pieces(): Iterable<string>;
}

/** Bytes are made of so many characters at once. */
const CHUNK_CHARACTERS = 32 * 1024;

/**
 * The page in Prometheus' text format. It is made in slices, between which requests are decided,
 * and scrapes at the same time share one page. Histograms are consistent in themselves; two metrics
 * may be some milliseconds apart.
 */
export class MetricsPage {
  readonly #registry: Registry;
  readonly #formerNames: (name: string) => readonly string[];
  #underWay: Promise<readonly Uint8Array[]> | undefined;

  /** Each metric is shown under its former names, too, as far as no other metric has them. */
  constructor(registry: Registry, formerNames: (name: string) => readonly string[] = () => []) {
    this.#registry = registry;
    this.#formerNames = formerNames;
  }

  /** Its bytes in order. Rejects with what a metric throws. */
  bytes(): Promise<readonly Uint8Array[]> {
    this.#underWay ??= this.#make().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #make(): Promise<readonly Uint8Array[]> {
    const slices = new TimeSlices();
    const encoder = new TextEncoder();
    const chunks: Uint8Array[] = [];
    let text = '';
    for (const [metric, name] of this.#shown()) {
      if (text !== '' || chunks.length > 0) text += '\n';
      for (const piece of await this.#piecesOf(metric)) {
        text += name === metric.name ? piece : piece.replaceAll(metric.name, name);
        if (text.length >= CHUNK_CHARACTERS) {
          chunks.push(encoder.encode(text));
          text = '';
        }
        if (slices.isOver) await slices.next();
      }
    }
    chunks.push(encoder.encode(text));
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

  async #piecesOf(metric: { readonly name: string }): Promise<Iterable<string>> {
    if (hasPieces(metric)) return metric.pieces();
    return [`${await this.#registry.getSingleMetricAsString(metric.name)}\n`];
  }
}

function hasPieces(metric: object): metric is PieceMetric {
  return 'pieces' in metric;
}

/** The lines that come before the values of a metric. */
export function headLines(name: string, help: string, type: string): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`;
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
