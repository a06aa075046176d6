import type {
  Dialect,
  Family,
  HistogramFamily,
  InfoFamily,
  Labels,
  MetricsSource,
  SeriesFamily,
} from './series-family.ts';
import { SGLANG } from './sglang.ts';
import { TRTLLM } from './trtllm.ts';
import { VLLM, VLLM_2025 } from './vllm.ts';

/** The engines whose metrics pages a stub can show. */
export const DIALECT_NAMES = ['vllm', 'vllm-2025', 'sglang', 'trtllm'] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  vllm: VLLM,
  'vllm-2025': VLLM_2025,
  sglang: SGLANG,
  trtllm: TRTLLM,
};

/** The Python client adds this family to every page. */
const START_TIME =
  '# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.\n' +
  '# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds ';

/** Renders the series of one engine in a family; those of an `InfoFamily` come otherwise. */
interface Renderer {
  /** Stands before the series of all engines. */
  readonly head: string;
  readonly body: (source: MetricsSource) => string;
}

/** Maximum number of templates kept per dialect; a pool has a handful of models. */
const TEMPLATES_MAX = 64;

/** Templates by dialect, then by labels and bucket counts. */
const templates = new WeakMap<Dialect, Map<string, readonly Renderer[]>>();

/**
 * Creates a function that renders a page in Prometheus text format, with the series of each engine
 * of a server. Nearly all text is constant and is built once for all servers with the same labels: a
 * process has hundreds of engines, each scraped twenty times a second, and a metrics library would
 * cost more than the engines do.
 */
export function createMetricsPage(
  dialect: Dialect,
  ...sources: readonly MetricsSource[]
): () => string {
  const engines = sources.map((source) => ({ source, renderers: templateOf(dialect, source) }));
  return () => {
    let text = '';
    for (let index = 0; index < dialect.families.length; index++) {
      const family = dialect.families[index] as Family;
      let head = '';
      let body = family.type === 'info' ? infoText(dialect, family, sources) : '';
      for (const { source, renderers } of engines) {
        const renderer = renderers[index] as Renderer;
        head = renderer.head;
        body += renderer.body(source);
      }
      if (body !== '') text += head + body;
    }
    const startSeconds = Math.max(...sources.map((source) => source.startSeconds()));
    return `${text}${START_TIME}${float(startSeconds)}\n`;
  };
}

function templateOf(dialect: Dialect, source: MetricsSource): readonly Renderer[] {
  const { prefix, families } = dialect;
  const shared = dialect.labels(source);
  const bounds = families.map((family) =>
    family.type === 'histogram' ? source.stats[family.field].bounds.length : 0,
  );
  const key = JSON.stringify([shared, bounds]);
  const kept = templates.get(dialect) ?? new Map<string, readonly Renderer[]>();
  templates.set(dialect, kept);
  const template =
    kept.get(key) ??
    families.map((family) =>
      rendererOf({ ...family, name: `${prefix}${family.name}` }, shared, source),
    );
  const [oldest] = kept.keys();
  if (kept.size >= TEMPLATES_MAX && oldest !== undefined && !kept.has(key)) kept.delete(oldest);
  kept.set(key, template);
  return template;
}

/** `source` is any one with these labels and bounds: its values are not read. */
function rendererOf(family: Family, shared: Labels, { stats }: MetricsSource): Renderer {
  const { name, help } = family;
  const type = family.type === 'info' ? 'gauge' : family.type;
  const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  switch (family.type) {
    case 'histogram':
      return { head, body: histogramBody(family, { shared, bounds: stats[family.field].bounds }) };
    case 'info':
      return { head, body: () => '' };
    case 'gauge':
    case 'counter':
      return { head, body: seriesBody(family, shared) };
  }
}

function seriesBody({ name, series }: SeriesFamily, shared: Labels): Renderer['body'] {
  const lines = series.map(({ labels = {}, value }) => ({
    start: `${name}${braced({ ...shared, ...labels })} `,
    value,
  }));
  return (source) => {
    let text = '';
    for (const { start, value } of lines) {
      const current = value(source);
      if (current !== undefined) text += `${start}${float(current)}\n`;
    }
    return text;
  };
}

function histogramBody(
  { name, field }: HistogramFamily,
  { shared, bounds }: { readonly shared: Labels; readonly bounds: readonly number[] },
): Renderer['body'] {
  const starts = [...bounds.map(float), '+Inf'].map(
    (le) => `${name}_bucket${braced({ ...shared, le })} `,
  );
  const sum = `${name}_sum${braced(shared)} `;
  const count = `${name}_count${braced(shared)} `;
  return ({ stats }) => {
    const histogram = stats[field];
    let text = '';
    let cumulative = 0;
    for (let index = 0; index < starts.length; index++) {
      cumulative += histogram.counts[index] as number;
      text += `${starts[index]}${float(cumulative)}\n`;
    }
    return `${text}${sum}${float(histogram.sum)}\n${count}${float(histogram.count)}\n`;
  };
}

/** Engines may have the same labels, as in vLLM: then the newest value is shown. */
function infoText(
  { prefix }: Dialect,
  { name, info }: InfoFamily,
  sources: readonly MetricsSource[],
): string {
  const values = new Map<string, number>();
  for (const source of sources) {
    for (const { labels, value } of info(source)) {
      const key = braced(labels);
      values.set(key, Math.max(value, values.get(key) ?? value));
    }
  }
  let text = '';
  for (const [labels, value] of values) text += `${prefix}${name}${labels} ${float(value)}\n`;
  return text;
}

/** Labels sorted by name, as the Python client prints them. */
function braced(labels: Labels): string {
  const pairs = Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}="${escaped(value)}"`);
  return `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`));
}

/** A number in Python's notation of a float. */
function float(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
